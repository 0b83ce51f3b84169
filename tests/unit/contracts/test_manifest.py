"""Tool manifests."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.manifest import Manifest, ToolManifest, load_manifest

FORECAST = """\
version: 1
tools:
  forecast:
    executable: weather
    tool_dir: weather
    timeout_seconds: 30
"""


def load(folder: Path, text: str) -> Manifest:
    """Write a manifest and load it."""
    path = folder / "manifest.yaml"
    path.write_text(text)
    return load_manifest(path)


def one_problem(folder: Path, entry: str) -> str:
    """Return the problem of a manifest whose second tool must fail while the first one loads."""
    manifest = load(folder, f"{FORECAST}  broken:\n    {entry}\n")
    assert list(manifest.tools) == ["forecast"]
    assert manifest.problems
    return "\n".join(str(problem) for problem in manifest.problems)


def test_the_shortest_entry_has_all_defaults(tmp_path: Path) -> None:
    """Only `executable` is needed; what is open is left to the worker."""
    tool = load(tmp_path, "tools: {greet: {executable: greet}}").tools["greet"]

    assert tool == ToolManifest(executable="greet", tool_dir="greet")
    assert (tool.timeout_seconds, tool.sandbox_profile, tool.python) == (None, None, None)
    assert (tool.required_scopes, tool.idempotent, tool.max_attempts) == ((), False, 1)
    assert (tool.start, tool.pool, tool.lane, tool.egress) == ("auto", "default", "normal", ())


def test_every_key_of_a_full_entry_is_read(tmp_path: Path) -> None:
    """The published keys and our own arrive with their values."""
    text = """\
version: 1
tools:
  heavy_pdf:
    runtime: executable
    executable: python/bin/heavy
    tool_dir: heavy_pdf
    timeout_seconds: 120
    sandbox_profile: restrictive
    resource_limits: {max_cpu_seconds: 60, max_file_size_mb: 100, max_open_files: 256, max_processes: 32,
                      max_stack_size_mb: 64}
    schema_refresh_seconds: 0.5
    required_scopes: ["tool:pdf:render", "tool:_:use"]
    idempotent: true
    max_attempts: 3
    start: template
    pool: documents
    lane: bulk
    egress: ["*.Example.com", "10.0.0.5:8080"]
    compat: strict
    python: /opt/python/bin/python3
"""
    tool = load(tmp_path, text).tools["heavy_pdf"]

    assert tool.resource_limits.max_open_files == 256
    assert tool.egress == ("*.example.com", "10.0.0.5:8080")
    assert tool.required_scopes == ("tool:pdf:render", "tool:_:use")
    assert tool.model_fields_set == set(ToolManifest.model_fields)


def test_keys_beside_the_tools_and_the_tools_are_told_at_once(tmp_path: Path) -> None:
    """Nobody has to mend the one to hear of the other."""
    path = tmp_path / "manifest.yaml"
    path.write_text("vresion: 1\ntools:\n  a: {executable: x, timeout_second: 3}\n")
    with pytest.raises(ConfigError) as caught:
        load_manifest(path)
    assert [(problem.line, problem.suggestion) for problem in caught.value.problems] == [
        (1, "version"),
        (3, "timeout_seconds"),
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("tool_dir: x", "tools.broken.executable: this key is required"),
        ("{executable: x, tool_dir: ../../etc}", "tools.broken.tool_dir: the path must not contain `..`"),
        ("{executable: x, tool_dir: /usr/bin}", "must be relative"),
        ("{executable: /bin/sh}", "must be relative"),
        ("{executable: a/../../b}", "must not contain `..`"),
        ("{executable: 'a\\b'}", "no backslash"),
        ("{executable: .}", "should name a file"),
        ("{executable: x, sandbox_profile: permisive}", "did you mean 'permissive'?"),
        ("{executable: x, timeout_seconds: 0}", "greater than 0"),
        ("{executable: x, timeout_seconds: -1}", "greater than 0"),
        ("{executable: x, timeout_seconds: 1000000000}", "less than or equal to 86400"),
        ("{executable: x, timeout_seconds: true}", "not true or false"),
        ("{executable: x, timeout_second: 3}", "unknown key; did you mean 'timeout_seconds'?; allowed: compat,"),
        ("{executable: x, timeout_second: 3}", "did you mean 'timeout_seconds'?"),
        ("{executable: x, max_attempts: 2}", "needs `idempotent: true`"),
        ("{executable: x, max_attempts: true}", "not true or false"),
        ("{executable: x, required_scopes: [a:b]}", "tools.broken.required_scopes[0]: this is no scope"),
        ("{executable: x, egress: ['https://example.com']}", "a host is needed"),
        ("{executable: x, egress: ['example.com:0']}", "a host is needed"),
        ("{executable: x, egress: ['*']}", "a host is needed"),
        ("{executable: x, pool: a.b}", "this name is not allowed; use 1 to 64"),
        ("{executable: x, compat: loose}", "allowed: repair, strict"),
        ("{executable: x, lane: fast}", "allowed: interactive, normal, bulk"),
        ("{executable: x, python: python3}", "an absolute path"),
        ("{executable: x, resource_limits: {max_open_files: 0}}", "greater than or equal to 1"),
        ("{executable: x, resource_limits: {max_open_file: 9}}", "did you mean 'max_open_files'?"),
        ("{executable: 5}", "should be a text; put it in quotes; found 5"),
        ("[]", "tools.broken: should be a mapping; found a list of 0"),
        ("", "tools.broken: should be a mapping; found nothing"),
    ],
)
def test_a_bad_entry_is_named_and_the_others_load(tmp_path: Path, entry: str, reason: str) -> None:
    """Each mistake names file, line and key; the sound tool is there."""
    problem = one_problem(tmp_path, entry)

    assert reason in problem
    assert f"{tmp_path}/manifest.yaml:" in problem


@pytest.mark.parametrize("name", ["web_request", "_private", "peer_x", "a b", "1st", "data_analysis"])
def test_bad_and_reserved_names_are_refused(tmp_path: Path, name: str) -> None:
    """A name that no model takes, or that means something already, fails alone."""
    manifest = load(tmp_path, f"{FORECAST}  {name}: {{executable: x}}\n")

    assert list(manifest.tools) == ["forecast"]
    assert "manifest.yaml:7" in str(manifest.problems[0])


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    """Two bad tools with two mistakes each give four problems."""
    text = "tools:\n  a: {executable: /x, lane: z}\n  b: {executable: /x, start: hot}\n"

    assert len(load(tmp_path, text).problems) == 4


def test_variables_of_the_worker_are_not_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's author can't read the worker's environment through a manifest."""
    monkeypatch.setenv("WORKER_SECRET", "s3cret")
    tool = load(tmp_path, "tools: {greet: {executable: '${WORKER_SECRET}'}}").tools["greet"]

    assert tool.executable == "${WORKER_SECRET}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "should be a mapping"),
        ("- a", "should be a mapping"),
        ("version: 1", "tools: this key is required"),
        ("version: 2\ntools: {}", "version: this value is not allowed; found 2; allowed: 1"),
        ("tool: {}\ntools: {}", "unknown key; did you mean 'tools'?; allowed: tools, version"),
        ("tools: [a]", "tools: should be a mapping of tool names"),
        ("tools: {a: {executable: x}, a: {executable: y}}", "the key 'a' is there twice"),
        ("tools: {a: {executable: !!python/name:os.system }}", "tags are not used"),
        ("tools: {", "not valid YAML"),
    ],
)
def test_a_broken_file_is_refused_as_a_whole(tmp_path: Path, text: str, reason: str) -> None:
    """When the file itself is not understood, no tool of it is."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    assert reason in str(caught.value)


@pytest.mark.parametrize("text", ["version: 1\ntools:", "tools: {}"])
def test_a_manifest_without_tools_is_fine(tmp_path: Path, text: str) -> None:
    """An empty toolset is no mistake."""
    manifest = load(tmp_path, text)

    assert manifest.tools == {}
    assert manifest.problems == ()
