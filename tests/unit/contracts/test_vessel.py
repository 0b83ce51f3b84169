"""Declared tools and their agent folder."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.vessel import DeclaredToolFile, load_declared_tool, load_vessel

TOOL = 'name = "species"\ndescription = "List every species."\ncommand = ["python3", "{package}/tools/s.py"]\n'


def load(folder: Path, text: str) -> DeclaredToolFile:
    """Write a tool file and load it."""
    path = folder / "tool.toml"
    path.write_text(text)
    return load_declared_tool(path)


def vessel(folder: Path, text: str, **tools: str) -> Path:
    """Write an agent folder."""
    agent = folder / "agent"
    (agent / "tools").mkdir(parents=True)
    (agent / "vessel.toml").write_text(text)
    for name, tool in tools.items():
        (agent / "tools" / f"{name}.toml").write_text(tool)
    return agent


def test_the_shortest_tool_has_the_published_defaults(tmp_path: Path) -> None:
    """Scope `tools:read`, JSON on stdin, an empty object schema, the agent's time limit."""
    tool = load(tmp_path, TOOL)

    assert tool.scope == "tools:read"
    assert tool.input == "json-stdin"
    assert tool.parameters == {"type": "object", "properties": {}}
    assert tool.timeout_seconds is None
    assert tool.argv("/agent") == ("python3", "/agent/tools/s.py")


def test_parameters_pass_as_they_are(tmp_path: Path) -> None:
    """Unknown schema keywords are kept for the model."""
    tool = load(tmp_path, TOOL + '[parameters]\ntype = "object"\n"x-vendor" = [1, 2]\nadditionalProperties = false\n')

    assert tool.parameters == {"type": "object", "x-vendor": [1, 2], "additionalProperties": False}


def test_a_service_replaces_the_command(tmp_path: Path) -> None:
    """A tool that the application answers has no argv."""
    text = 'name = "a"\ndescription = "d"\n[service]\nurl = "https://app.example.com/x"\nheaders = { A = "b" }\n'
    tool = load(tmp_path, text)

    assert tool.service is not None
    assert tool.service.method == "POST"
    assert tool.argv("/agent") == ()


@pytest.mark.parametrize("name", ["a", "a" * 63, "a1_2"])
def test_good_names(tmp_path: Path, name: str) -> None:
    """Lowercase letters, digits and underscores, up to 63."""
    assert load(tmp_path, TOOL.replace("species", name)).name == name


@pytest.mark.parametrize(
    "name", ["", "1a", "_a", "A", "a-b", "a.b", "a b", "é", "a\\n", "a" * 64, "run_command", "web_request", "peer_a"]
)
def test_bad_names(tmp_path: Path, name: str) -> None:
    """Also a trailing line break, and the names of built-in tools."""
    with pytest.raises(ConfigError, match=r"tool.toml:1: name: "):
        load(tmp_path, TOOL.replace('"species"', f'"{name}"'))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TOOL.replace("List every species.", " "), "description: the text must not be empty"),
        ('name = "a"\ncommand = ["x"]', "description: this key is required"),
        ('name = "a"\ndescription = "d"', "found neither"),
        (TOOL + '[service]\nurl = "http://x"', "found both"),
        (TOOL + 'input = "xml"', "allowed: json-stdin, args"),
        (TOOL + "timeout_seconds = 0", "greater than 0"),
        (TOOL + "timeout_seconds = true", "not true or false"),
        (TOOL + 'timeout_seconds = "3"', "should be a valid number"),
        (TOOL + "timeout_seconds = inf", "nan and inf"),
        (TOOL + 'scope = ""', "a scope is 1 to"),
        (TOOL + 'scope = "a b"', "a scope is 1 to"),
        (TOOL + "timeout_secs = 3", "did you mean 'timeout_seconds'?"),
        (TOOL + "[parameters]\nwhen = 2020-01-01", "parameters.when: dates and times"),
        (TOOL + "[parameters]\nproperties = 1", "should be a table"),
        (TOOL + 'input = "args"\n[parameters.properties."a=b"]\ntype = "string"', "a parameter's name is letters"),
        ('name = "a"\ndescription = "d"\ncommand = "ls -l"', "command: should be a list"),
        ('name = "a"\ndescription = "d"\ncommand = []', "at least 1 item"),
        ('name = "a"\ndescription = "d"\ncommand = [""]', "must not be empty"),
        ('name = "a"\ndescription = "d"\ncommand = [1]', "command[0]: should be a text"),
        ('name = "a"\ndescription = "d"\ncommand = ["a\\u0000"]', "NUL"),
        ('name = "a"\ndescription = "d"\n[service]\nurl = "ftp://x"', "service.url: a URL"),
    ],
)
def test_bad_tools_are_refused_with_the_key(tmp_path: Path, text: str, reason: str) -> None:
    """Each mistake is named; nothing is silently repaired."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    assert reason in str(caught.value)


def test_a_folder_with_all_settings(tmp_path: Path) -> None:
    """Tools, mounts and limits are read; other parts of the vessel are listed, not refused."""
    text = """\
workdir = "/data"
tool_timeout_seconds = 20
tool_output_chars = 100
[model]
name = "m"
[tools]
declared = ["tools/a.toml"]
[sandbox]
[[sandbox.mounts]]
source = "data"
target = "/data"
"""
    loaded = load_vessel(vessel(tmp_path, text, a=TOOL))

    assert list(loaded.tools) == ["species"]
    assert loaded.tools["species"].path.name == "a.toml"
    assert (loaded.settings.workdir, loaded.settings.tool_timeout_seconds) == ("/data", 20)
    assert loaded.settings.sandbox.mounts[0].target == "/data"
    assert loaded.ignored == ("model",)
    assert loaded.problems == ()


def test_bad_tools_leave_the_others(tmp_path: Path) -> None:
    """A file that is missing, broken, outside, listed twice or named twice is a problem; the sound ones load."""
    listed = ["tools/a.toml", "tools/none.toml", "tools/b.toml", "./tools/a.toml", "tools/link.toml", "tools/same.toml"]
    agent = vessel(tmp_path, f"[tools]\ndeclared = {listed}\n", a=TOOL, b="x = ", same=TOOL)
    (tmp_path / "outside.toml").write_text(TOOL)
    (agent / "tools" / "link.toml").symlink_to(tmp_path / "outside.toml")

    loaded = load_vessel(agent)

    assert list(loaded.tools) == ["species"]
    shown = "\n".join(str(problem) for problem in loaded.problems)
    for reason in ("No such file", "not valid TOML", "listed twice", "lies outside the agent folder", "the same name"):
        assert reason in shown
    assert len(loaded.problems) == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[tools]\ndeclared = ["../x.toml"]', "must not contain `..`"),
        ('[tools]\ndeclared = ["/x.toml"]', "must be relative"),
        ("[tools]\ndeclare = []", "did you mean 'declared'?"),
        ('[[sandbox.mounts]]\nsource = "a"\ntarget = "/workspace/a"', "this folder of the sandbox is taken"),
        ('[[sandbox.mounts]]\nsource = "a"\ntarget = "/"', "this folder of the sandbox is taken"),
        ('[[sandbox.mounts]]\nsource = "a"\ntarget = "data"', "an absolute path"),
        (
            '[[sandbox.mounts]]\nsource = "a"\ntarget = "/d"\n[[sandbox.mounts]]\nsource = "b"\ntarget = "/d/e"',
            "two mounts",
        ),
        ("tool_timeout_seconds = 0", "greater than 0"),
        ("tool_output_chars = true", "not true or false"),
    ],
)
def test_a_bad_vessel_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """The folder's own settings are all right, or it doesn't load."""
    with pytest.raises(ConfigError) as caught:
        load_vessel(vessel(tmp_path, text))

    assert reason in str(caught.value)


def test_a_misspelt_setting_is_reported(tmp_path: Path) -> None:
    """What looks like one of our keys is not passed over in silence."""
    loaded = load_vessel(vessel(tmp_path, "tool_timeout_second = 5\n"))

    assert "did you mean 'tool_timeout_seconds'?" in str(loaded.problems[0])
