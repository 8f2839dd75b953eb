"""Where the broker is, and how to name it without its password."""

import re
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from producers.events import ProducerError

WANTS = "wants redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH"


class SettingsError(ProducerError):
    """Raised when a setting cannot be right; one line names the variable and what it wants."""


class BrokerSettings(BaseSettings):
    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", extra="ignore", hide_input_in_errors=True
    )

    broker_url: str = Field(default="redis://127.0.0.1:6379/0", repr=False)

    @field_validator("broker_url")
    @classmethod
    def _usable(cls, value: str) -> str:
        value = value.strip()
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError(WANTS)
        try:
            parts = urlsplit(value)
            host, _ = parts.hostname or "", parts.port  # reading the port checks it
            host.encode("idna")
        except ValueError:  # its text would quote the address
            raise ValueError(f"{WANTS}; in a password write / ? # @ : % as %2F %3F %23 %40 %3A %25") from None
        # The client would take an unreadable database number for 0 without a word.
        if parts.scheme == "unix" and (host or not parts.path.strip("/")):
            raise ValueError(f"{WANTS}; there is no absolute path in it")
        if parts.scheme != "unix" and not re.fullmatch("/?[0-9]*", parts.path):
            raise ValueError(f"{WANTS}; DB is a number")
        if parts.fragment or "@" in parts.query or not _client_takes(value):
            raise ValueError(
                f"{WANTS}; after ? stand options of the Redis client, with @ and # as %40 and %23"
            )
        return value


def broker_settings() -> BrokerSettings:
    """The settings from the environment and .env; raises SettingsError."""
    try:
        return BrokerSettings()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        variable = str(problem["loc"][0]).upper()
        raise SettingsError(f"{variable}: {problem.get('ctx', {}).get('error', problem['msg'])}") from None
    except (UnicodeDecodeError, OSError):
        raise SettingsError(".env: cannot be read; it wants to be a UTF-8 file of NAME=VALUE lines") from None


def redacted(url: str) -> str:
    """The address with *** for a password in it."""
    scheme, colon, rest = url.partition("://")
    before_query, mark, query = rest.partition("?")
    if not colon or "@" in query:  # where a password begins and ends cannot be told
        return f"{scheme}://***" if colon else "***"
    user, at, where = before_query.rpartition("@")
    if at:
        user = user.split(":")[0] + ":***" if ":" in user else "***"
    query = "&".join(_without_password(option) for option in query.split("&"))
    return f"{scheme}://{user}{at}{where}{mark}{query}"


def _without_password(option: str) -> str:
    name, equals, _ = option.partition("=")
    return f"{name}=***" if equals and "password" in unquote(name).lower() else option


def _client_takes(url: str) -> bool:
    from redis import ConnectionPool

    try:
        ConnectionPool.from_url(url).make_connection()  # nothing is sent yet
    except Exception:  # each option has its own way to fail, and any of them means no
        return False
    return True
