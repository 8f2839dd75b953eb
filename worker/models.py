"""Which chat model plans the orders: an OpenAI-compatible endpoint, or the runbook when none is named."""

from langchain_core.language_models import BaseChatModel

from worker.runbook import Runbook
from worker.settings import AgentSettings


def chat_model(settings: AgentSettings) -> BaseChatModel:
    """One model for the whole process. Retries and the deadline are the agent's, not the client's."""
    if settings.llm_model is None:
        return Runbook()
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient
    from pydantic import SecretStr

    return ChatOpenAI(
        model=settings.llm_model,
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key or SecretStr("none"),  # local servers ask for none, the client does
        timeout=settings.llm_timeout_seconds,
        # Its own, since the library shares one among all models of a process, whatever their event loop.
        http_async_client=DefaultAsyncHttpxClient(timeout=settings.llm_timeout_seconds),
        max_retries=0,
        temperature=0,
        use_responses_api=False,
    )


async def close(model: BaseChatModel) -> None:
    """Close the model's connections, on the loop that it was used on."""
    client = getattr(model, "http_async_client", None)
    if client is not None:
        await client.aclose()
