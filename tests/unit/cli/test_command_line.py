"""The command line itself, without a mesh."""

import json
from pathlib import Path

import pytest
from tests.support.running_mesh import run_toolmesh

_COMMANDS = (
    ["up"],
    ["call"],
    ["result"],
    ["tools"],
    ["tools", "list"],
    ["tool"],
    ["tool", "init"],
    ["tool", "run"],
    ["tool", "validate"],
    ["tool", "schema"],
    ["config"],
    ["config", "validate"],
    ["dead"],
    ["dead", "list"],
    ["dead", "show"],
    ["dead", "requeue"],
    ["dead", "drop"],
    ["doctor"],
    ["demo"],
    ["version"],
)


@pytest.mark.parametrize("command", [[], *_COMMANDS], ids=lambda command: " ".join(command) or "toolmesh")
async def test_every_help_has_an_example(command: list[str]) -> None:
    """A newcomer sees a whole command line to copy."""
    shown = await run_toolmesh(*command, "--help")

    assert shown.code == 0
    assert "Example" in shown.stdout
    assert "  toolmesh " in shown.stdout
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}, {"GITHUB_ACTIONS": "true"}])
async def test_help_in_a_pipe_has_no_colours(environment: dict[str, str]) -> None:
    """Not even where other tools are told to force them."""
    shown = await run_toolmesh("--help", extra_environment=environment)

    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["call"], ["call", "x", "--nothing"], ["up", "--workers", "none"], ["up", "--workers", "0"]],
)
async def test_wrong_usage_is_one_error_with_a_hint(arguments: list[str]) -> None:
    """No usage dump and no traceback; the hint leads to the help."""
    ended = await run_toolmesh(*arguments)

    assert ended.code == 2
    assert ended.stdout == ""
    first, *rest = ended.stderr.splitlines()
    assert first.startswith("error [USAGE]: ")
    assert len(rest) == 1
    assert rest[0].startswith("hint: see: toolmesh")
    assert rest[0].endswith("--help")


async def test_a_missing_value_leads_to_the_help_of_its_command() -> None:
    """Not to that of the whole program."""
    ended = await run_toolmesh("tool", "init", "x", "--style")

    assert ended.code == 2
    assert ended.stderr.splitlines()[1:] == ["hint: see: toolmesh tool init --help"]


@pytest.mark.parametrize("arguments", [[], ["tools"], ["tool"], ["config"]])
async def test_a_bare_command_shows_its_help(arguments: list[str]) -> None:
    """And counts as wrong usage, for scripts."""
    ended = await run_toolmesh(*arguments)

    assert ended.code == 2
    assert "Commands:" in ended.stdout


async def test_the_version_is_one_document_of_four_parts() -> None:
    """What a bug report needs."""
    shown = await run_toolmesh("version", "--json")

    assert shown.code == 0
    assert set(json.loads(shown.stdout)) == {"toolmesh", "python", "nats-server", "bwrap"}


async def test_up_needs_tools() -> None:
    """Forgetting them is told at once."""
    ended = await run_toolmesh("up")

    assert ended.code == 2
    assert "--tools" in ended.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("toolmesh to", {"tool", "tools"}),
        ("toolmesh tool ", {"init", "run", "validate", "schema"}),
        ("toolmesh call x", set()),
        ("toolmesh up --durability ", {"fast", "durable"}),
    ],
)
async def test_a_shell_completes_commands_and_is_silent_where_it_knows_nothing(
    tmp_path: Path, words: str, expected: set[str]
) -> None:
    """Tools of a mesh that does not run are none, and no error."""
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_TOOLMESH_COMPLETE": "complete_bash"}
    shown = await run_toolmesh(data_folder=tmp_path, extra_environment=environment)

    assert (set(shown.stdout.split()), shown.stderr) == (expected, "")
