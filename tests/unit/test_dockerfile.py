"""The Dockerfile and what is sent to its builder."""

import json
import re
import tomllib

from tests.helpers import compose

PROJECT = tomllib.loads((compose.ROOT / "pyproject.toml").read_text("utf-8"))


def test_two_stages_stand_on_one_pinned_image() -> None:
    bases = [rest.split(" ")[0] for word, rest in compose.instructions() if word == "FROM"]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", bases[0])


def test_what_is_installed_has_hashes_or_is_the_project_itself() -> None:
    installs = [rest for word, rest in compose.instructions() if word == "RUN" and " install " in rest]
    assert [
        ("--require-hashes" in line, "--no-deps --no-build-isolation ." in line) for line in installs
    ] == [
        (True, False),
        (False, True),
    ]


def test_the_image_that_runs_holds_no_package_manager_of_ours_and_no_compiler() -> None:
    for word, rest in compose.final_stage():
        assert not re.search(r"\b(apt|apt-get|gcc|build-essential|pip)\b", rest), f"{word} {rest}"


def test_the_image_runs_as_the_user_that_compose_names() -> None:
    users = [rest for word, rest in compose.final_stage() if word == "USER"]
    assert users == [compose.services()["worker"]["user"]]
    assert not users[0].startswith("0")


def test_the_image_starts_a_worker_without_a_shell_between() -> None:
    commands = [rest for word, rest in compose.final_stage() if word in ("CMD", "ENTRYPOINT")]
    assert len(commands) == 1
    assert json.loads(commands[0]) == compose.services()["worker"]["command"]


def test_a_health_check_that_is_stuck_ends_by_itself_and_says_why() -> None:
    (stated,) = (rest for word, rest in compose.final_stage() if word == "HEALTHCHECK")
    allowed, own = re.search(r"--timeout=(\d+)s", stated), re.search(r"--timeout (\d+)", stated)
    assert allowed
    assert own
    assert int(allowed[1]) >= int(own[1]) + 15
    assert stated.partition(" CMD ")[2].split()[0] in PROJECT["project"]["scripts"]


def test_every_service_of_ours_starts_a_program_that_the_image_has() -> None:
    scripts = set(PROJECT["project"]["scripts"]) | {"celery"}
    for service in compose.services().values():
        if service["image"].startswith("andon:"):
            assert service["command"][0] in scripts


def test_the_builder_is_sent_exactly_what_is_copied() -> None:
    ignored = (compose.ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in ignored if line and not line.startswith("#")]
    assert rules[0] == "*", "what is not named is not sent"
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {
        source
        for word, rest in compose.instructions()
        if word == "COPY" and "--from" not in rest
        for source in rest.split(" ")[:-1]
    }
    assert sent == copied
    assert copied >= set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    missing = {source for source in copied if not (compose.ROOT / source).exists()}
    assert not missing
