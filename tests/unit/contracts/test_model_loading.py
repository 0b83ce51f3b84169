"""From a file to a checked model."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from toolmesh_contracts.config_fields import ConfigModel, Count, Text
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.model_fields import allowed_keys, allowed_tags, description_of
from toolmesh_contracts.model_loading import Loaded, load_model


class Inner(ConfigModel):
    """A part."""

    size: Count = 1
    """How large."""
    password: Text | None = None


class Outer(ConfigModel):
    """A file."""

    one: Inner | None = None
    """The first part."""
    many: tuple[Inner, ...] = ()
    named: dict[str, Annotated[Inner, Field(description="x")]] = Field(default_factory=dict)
    given: Text = Field(default="x", alias="as")


def load(folder: Path, text: str, name: str = "f.yaml", environment: dict[str, str] | None = None) -> Loaded[Outer]:
    """Write a file and load it."""
    path = folder / name
    path.write_text(text)
    return load_model(path, Outer, environment)


def refusal(folder: Path, text: str, environment: dict[str, str] | None = None) -> str:
    """Return the problems of a file that must be refused."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text, environment=environment)
    return str(caught.value)


def test_toml_and_yaml_give_the_same_model(tmp_path: Path) -> None:
    """The suffix chooses the reader."""
    yaml = load(tmp_path, "one: {size: 2}\nas: y\n").model
    toml = load(tmp_path, 'as = "y"\n[one]\nsize = 2\n', "f.TOML").model

    assert yaml == toml
    assert yaml.one == Inner(size=2)


def test_without_an_environment_references_are_text(tmp_path: Path) -> None:
    """Files of strangers read no variables."""
    loaded = load(tmp_path, "as: ${HOME}\n")

    assert loaded.model.given == "${HOME}"
    assert loaded.referenced == frozenset()


def test_unset_variables_come_first_and_what_they_would_hold_is_not_judged(tmp_path: Path) -> None:
    """The other mistakes are told with them, so that one look is enough."""
    message = refusal(tmp_path, "one: {size: '${UNSET}'}\nas: ''\nunknown: 1\n", {})

    first, *others = message.splitlines()
    assert "one.size: the environment variable UNSET is not set" in first
    assert [line.split(": ")[1] for line in others] == ["as", "unknown"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one: {sise: 1}", "f.yaml:1: one.sise: unknown key; did you mean 'size'?; allowed: password, size"),
        (
            "many:\n  - size: 1\n  - sise: 1",
            "f.yaml:3: many[1].sise: unknown key; did you mean 'size'?; allowed: password, size",
        ),
        ("named: {a: {sise: 1}}", "named.a.sise: unknown key; did you mean 'size'?; allowed: password, size"),
        ("given: x", "given: unknown key; allowed: as, many, named, one"),
        ("one: 5", "one: should be a mapping; found 5"),
        ("many: {}", "many: should be a list; found a mapping"),
        ("one: {size: x}", 'one.size: should be a valid integer, unable to parse string as an integer; found "x"'),
        ("as: ''", "as: String should have at least 1 character"),
        ("- a", "should be a mapping; found a list of 1"),
    ],
)
def test_problems_name_line_key_and_what_is_allowed(tmp_path: Path, text: str, reason: str) -> None:
    """For every way in which a value can be wrong."""
    assert reason in refusal(tmp_path, text).replace("should be String", "String")


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    """Three mistakes, three lines."""
    assert len(refusal(tmp_path, "one: {size: 0}\nmany: [1]\nnope: 1\n").splitlines()) == 3


@pytest.mark.parametrize("written", ["123456", "[hunter2]", "{a: hunter2}", "hunter2${X, hunter2}"])
def test_literal_secrets_are_not_shown(tmp_path: Path, written: str) -> None:
    """A password without its quotes does not end up in a log."""
    message = refusal(tmp_path, f"one: {{size: 0}}\nmany:\n  - password: {written}\n    size: 0\n", {})

    assert "123456" not in message
    assert "hunter2" not in message


def test_what_a_model_allows_is_found_through_every_kind_of_field() -> None:
    """Optional parts, lists, mappings and annotated types; a place that is not there allows nothing."""
    places: list[tuple[Any, ...]] = [("one",), ("many", 0), ("named", "x")]

    assert {allowed_keys(Outer, place) for place in places} == {("password", "size")}
    assert allowed_keys(Annotated[Outer, "note"], ("one",)) == ("password", "size")
    assert allowed_keys(Outer, ("nothing", "there")) == ()
    assert allowed_keys(Outer, ("many", "x")) == ()
    assert allowed_keys(Outer, ("as", "x")) == ()
    assert description_of(Outer, ("one", "size")) == "How large."
    assert description_of(Outer, ("one", "password")) == ""
    assert allowed_tags(Outer, ("one",), "type") == ()
