"""Where the database is, and what is particular to this plant."""

import sys
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

Language = Literal["zh", "en"]

Settings = TypeVar("Settings", bound=BaseSettings)

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")


def settings_or_exit(settings: type[Settings]) -> Settings:
    """The settings from the environment and `.env`; when one cannot be right the program ends, with a
    line that names the variable and what it wants, and never shows what was given."""
    try:
        return settings()
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        variable = "_".join(str(part) for part in problem["loc"][:1]).upper()
        wants = problem.get("ctx", {}).get("error", problem["msg"])
    except SettingsError as error:  # a value that is not JSON where a list is wanted
        variable, wants = f"{error}".split('"')[1].upper(), "wants JSON, such as [800, 600, 300]"
    except (UnicodeDecodeError, OSError):
        variable, wants = ".env", "cannot be read; it wants to be a UTF-8 file of NAME=VALUE lines"
    sys.stderr.write(f"error: {variable}: {wants}\n")
    sys.exit(2)


class DatabaseSettings(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", extra="ignore", hide_input_in_errors=True)

    database_url: str = Field(default="sqlite:///var/andon.db", repr=False)

    @field_validator("database_url")
    @classmethod
    def _supported(cls, value: str) -> str:
        try:
            url = make_url(value)
        except (ArgumentError, ValueError):  # the ValueError of a bad port quotes a part of the address
            raise ValueError("not a database address; use sqlite:///FILE or postgresql+psycopg://…") from None
        backend = url.get_backend_name()
        if backend not in ("sqlite", "postgresql"):
            raise ValueError(f"{backend} is not supported; use sqlite:///FILE or postgresql+psycopg://…")
        if url.drivername not in _DRIVERS:
            raise ValueError(
                f"the driver of {url.drivername} is not used here; write {backend}://… without it"
            )
        if backend == "sqlite" and url.database in (None, "", ":memory:"):
            raise ValueError("a database in memory is lost with the process; name a file: sqlite:///FILE")
        if url.drivername == "postgresql":  # psycopg 3 is the driver that is installed
            value = url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
        return value


class PlantSettings(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", extra="ignore")

    plant_timezone: str = "Asia/Shanghai"
    plant_language: Language = "zh"
    priority_severities: tuple[int, int, int] = (800, 600, 300)
    """The least severity of priority 1, 2 and 3; what is below is 4."""

    @field_validator("plant_timezone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                "not a time zone of the IANA database; use a name such as Asia/Shanghai"
            ) from None
        return value

    @field_validator("priority_severities", mode="wrap")
    @classmethod
    def _falling(cls, value: object, validated: ValidatorFunctionWrapHandler) -> tuple[int, int, int]:
        try:
            worst, second, third = validated(value)
            if 1000 >= worst > second > third >= 1:
                return worst, second, third
        except ValidationError:
            pass
        raise ValueError("wants three falling severities from 1000 to 1, such as [800, 600, 300]")

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.plant_timezone)

    def priority(self, severity: int) -> int:
        """Priority 1 (now) to 4, by the plant's table of severities."""
        return 1 + sum(severity < least for least in self.priority_severities)
