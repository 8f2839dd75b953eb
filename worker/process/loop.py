"""The process's one event loop, in a thread of its own, and the way in from a task's thread."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")

EXECUTOR_MARGIN = 64
"""Threads beside one a running alarm: LangChain runs the start and end of each hook in them, and a
look-up that timed out keeps its thread until its source lets go."""


class LoopThread:
    """Started at first use, after any fork. Shared clients live on it, so their connections do too."""

    def __init__(self, concurrency: int) -> None:
        self.loop = asyncio.new_event_loop()
        self._executor = ThreadPoolExecutor(concurrency + EXECUTOR_MARGIN, thread_name_prefix="andon")
        self.loop.set_default_executor(self._executor)
        self._thread = Thread(target=self.loop.run_forever, name="andon-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run it on the loop and wait for its result, from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        """Stop the loop; what still runs on it is cancelled first."""
        self.run(_cancel_others())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self._executor.shutdown(wait=False, cancel_futures=True)
        self.loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
