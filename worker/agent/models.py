"""Which chat model plans the orders: an OpenAI-compatible endpoint, or the runbook when none is named."""

from langchain_core.language_models import BaseChatModel

from worker.agent.runbook import Runbook
from worker.settings import AgentSettings


def chat_model(settings: AgentSettings) -> BaseChatModel:
    """One model for the whole process. Retries and the deadline are the agent's, not the client's."""
    if settings.llm_model is None:
        return Runbook()
    from worker.agent.endpoint import compatible_chat

    return compatible_chat(settings.llm_model, settings)


async def close(model: BaseChatModel) -> None:
    """Close the model's connections, on the loop that it was used on."""
    client = getattr(model, "http_async_client", None)
    if client is not None:
        await client.aclose()
