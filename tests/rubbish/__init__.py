"""What may stand in the broker and is no work of ours, by name: on Celery's own lists, and in the stream."""

from tests.rubbish.lists import on_celerys_lists
from tests.rubbish.messages import body, message, raw
from tests.rubbish.stream import in_the_stream

__all__ = ["body", "in_the_stream", "message", "on_celerys_lists", "raw"]
