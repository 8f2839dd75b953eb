"""Where the database is, and what is particular to this plant."""

import re
import sys
from datetime import timedelta
from typing import Annotated, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from db.rules import FloodLimit, Rules

Language = Literal["zh", "en"]

Settings = TypeVar("Settings", bound=BaseSettings)

PERSONAL = (
    # Telephone numbers: with a country, mobile, with an area, an extension. Then addresses of e-mail.
    "(?<![0-9A-Za-z])[+][0-9][0-9 ()-]{6,16}[0-9]",
    "(?<![0-9A-Za-z-])1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}(?![0-9A-Za-z])",
    "(?<![0-9A-Za-z-])0[0-9]{2,3}[- ][0-9]{7,8}(?![0-9A-Za-z])",
    "(?:分机|(?<![A-Za-z])[Ee]xt[.]?) ?[0-9]{2,6}(?![0-9A-Za-z])",
    "(?<![0-9A-Za-z._%+-])[0-9A-Za-z._%+-]{1,64}@[0-9A-Za-z-]{1,63}(?:[.][0-9A-Za-z-]{1,63}){1,8}",
)
"""Personal data in an account of a run, where the plant does not say what that is."""
LONGEST_REPEAT_WINDOW_HOURS = 10_000

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")

_SUCH_AS = {"TRACE_REDACT": '["[0-9]{11}"], with each backslash written twice'}


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
        variable = f"{error}".split('"')[1].upper()
        wants = f"wants JSON, such as {_SUCH_AS.get(variable, '[800, 600, 300]')}"
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
    priority_severities: tuple[int, int, int] = Rules.priority_severities
    """The least severity of priority 1, 2 and 3; what is below is 4."""
    trace_redact: tuple[str, ...] = PERSONAL
    """Regular expressions: what they find is taken out of the accounts of runs."""
    repeat_window_hours: float = Rules.repeat_window / timedelta(hours=1)
    """A fault that comes back within so many hours after its order ended is a repeat of it; 0: never."""
    flood_limit: Annotated[FloodLimit | None, NoDecode] = None
    """Above so many new alarms of a line in such a time, its further ones join one order."""

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

    @field_validator("repeat_window_hours", mode="wrap")
    @classmethod
    def _hours(cls, value: object, validated: ValidatorFunctionWrapHandler) -> float:
        try:
            hours = float(validated(value))
            if 0 <= hours <= LONGEST_REPEAT_WINDOW_HOURS:
                return hours
        except ValidationError:
            pass
        raise ValueError(f"wants hours, from 0 (nothing is a repeat) to {LONGEST_REPEAT_WINDOW_HOURS}")

    @field_validator("flood_limit", mode="before")
    @classmethod
    def _limit(cls, value: object) -> object:
        return FloodLimit.parse(value) if isinstance(value, str) else value

    @field_validator("trace_redact")
    @classmethod
    def _expressions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for number, written in enumerate(value, start=1):
            try:
                nothing = re.compile(written).search("")
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"no. {number} is no regular expression: {error}") from None
            if nothing is not None:
                raise ValueError(f"no. {number} finds something in an empty text, so it would be everywhere")
        return value

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.plant_timezone)

    @property
    def rules(self) -> Rules:
        return Rules(self.priority_severities, timedelta(hours=self.repeat_window_hours), self.flood_limit)
