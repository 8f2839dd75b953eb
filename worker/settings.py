"""How the agent and the worker are bounded, from the environment or `.env`."""

from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from db.models.order import RUNBOOK


class AgentSettings(BaseSettings):
    """The model and the limits of one attempt. Without `LLM_MODEL` the runbook plans every order."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", hide_input_in_errors=True)

    llm_model: str | None = Field(default=None, max_length=200)
    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = Field(default=None, repr=False)  # may hold a key
    llm_timeout_seconds: float = Field(default=30, gt=0, le=600)
    agent_max_model_calls: int = Field(default=8, ge=1, le=100)
    agent_deadline_seconds: float = Field(default=120, ge=1, le=3600)

    @field_validator("llm_model", "openai_api_key", "openai_base_url", mode="before")
    @classmethod
    def _blank_is_unset(cls, value: object) -> object:
        return value.strip() or None if isinstance(value, str) else value

    @field_validator("llm_model")
    @classmethod
    def _a_name(cls, value: str | None) -> str | None:
        if value is not None and (value == RUNBOOK or not value.isprintable()):
            raise ValueError("wants the name of a model; leave it out for the runbook")
        return value

    @field_validator("openai_api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value() if value is not None else ""
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("wants the key alone: ASCII letters, digits and marks, no space")
        return value

    @field_validator("openai_base_url")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is not None and not _is_http(value):
            raise ValueError("wants an address such as https://api.deepseek.com/v1")
        return value

    @property
    def secrets(self) -> list[str]:
        """What may stand in no account of a run: the key, and what else of the kind an address holds."""
        key = self.openai_api_key.get_secret_value() if self.openai_api_key is not None else ""
        address = urlsplit(self.openai_base_url or "")
        in_query = [value for _, value in parse_qsl(address.query) if len(value) >= 8]  # 1 and v2 are none
        password = address.password or ""  # as it is written, and as it is sent
        return [secret for secret in (key, password, unquote(password), *in_query) if secret]


class WorkerSettings(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", extra="ignore")

    worker_concurrency: int = Field(default=16, ge=1, le=512)
    lease_seconds: float = Field(default=30, ge=1, le=3600)
    stop_grace_seconds: float = Field(default=20, ge=0, le=3600)


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for what is no port
    except ValueError:
        return False
    plain = address.isprintable() and " " not in address
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname)
