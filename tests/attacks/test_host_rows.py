"""Attacks on the worker itself: results, names, folders, manifests, starts. Each is bound to a row by its id."""

import json
import os
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from tests.support.sandboxes import ENVIRONMENT, PYTHON, policy_with, run, sandbox, throwaway_base
from tests.support.toolset_reading import GOOD, discovery, toolset

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.vessel import load_declared_tool
from toolmesh_contracts.yaml_document import parse_yaml
from toolmesh_runtime.declared.call_arguments import RefusedArgumentsError, as_flags
from toolmesh_runtime.process.interpretation import interpret
from toolmesh_runtime.process.result_envelope import read_envelope
from toolmesh_runtime.toolsets.locate import find_manifests
from toolmesh_sandbox.errors import OutputRefusedError, PolicyInvalidError, PublishError, SandboxUnavailableError
from toolmesh_sandbox.outputs import collect, read_file
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.process import Exit, Usage
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import PublishLimits, publish_tree


def an_exit(*, code: int | None = 0, timed_out: bool = False, stdout: bytes = b"") -> Exit:
    return Exit(
        code=code,
        signal=None if code is not None else 9,
        timed_out=timed_out,
        killed=timed_out,
        setup_failed=None,
        stdout=stdout,
        stdout_dropped=0,
        stderr=b"",
        stderr_dropped=0,
        usage=Usage(wall_ms=1, cpu_ms=1, peak_memory_bytes=1),
    )


@pytest.mark.attack("F31")
def test_a_planted_link_in_a_package_reaches_nothing(tmp_path: Path) -> None:
    """A link out of the package is no package, and nothing may be mounted below one."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/data").symlink_to("/oldroot/tmp/HOST/DIR")
    with throwaway_base() as base, pytest.raises(PublishError, match="outside its tree"):
        publish_tree(tmp_path / "pkg", base, "package")
    package = Mount(tmp_path, PurePosixPath("/agent"))
    with pytest.raises(PolicyInvalidError, match="collides"):
        profile("declared").with_mounts(package, Mount(tmp_path, PurePosixPath("/agent/data/x")))
    assert not Path("/tmp/HOST").exists()  # noqa: S108


@pytest.mark.attack("F32")
async def test_a_workspace_cant_be_replaced_between_the_calls_of_a_turn() -> None:
    """The first call can neither rename nor remove its mount point, and the second finds the same workspace."""
    code = (
        "import os\n"
        "print(os.listdir('.'))\n"
        "open('kept', 'w').close()\n"
        "for act in (lambda: os.rename('/work', '/work2'), lambda: os.rmdir('/work'), lambda: os.symlink('/etc', '/work'),\n"
        "            lambda: os.rename('/outbox', '/work/outbox')):\n"
        "    try: act(); print('done')\n"
        "    except OSError: pass"
    )
    with throwaway_base() as base:
        async with sandbox(base, profiles=["declared"]) as backend:
            policy = policy_with("declared")
            policy = policy.with_mounts(Mount(Path("/usr/share"), PurePosixPath("/data")))
            async with backend.workspace(policy) as workspace:
                printed = []
                for _ in range(2):
                    argv = [PYTHON, "-c", "import os; os.chdir('/work')\n" + code]
                    async with backend.start(argv, ENVIRONMENT, policy, workspace) as process:
                        printed.append((await process.wait()).stdout.decode())
    assert printed == ["[]\n", "['kept']\n"]


@pytest.mark.attack("R01", "R02")
@pytest.mark.parametrize("value", ["[" * 100_000 + "]" * 100_000, "1" * 5000])
def test_a_result_that_breaks_readers_is_an_outcome(value: str) -> None:
    """Nested 100 000 deep, or a number of 5 000 digits: an outcome that can be sent, and no exception."""
    returned = read_envelope(b'{"result": {"message": "x", "data": %s}}' % value.encode())
    assert returned.outcome in {"error", "ok"}
    assert len(returned.message) < 10_000
    json.loads(returned.data or b"null")


@pytest.mark.attack("R04")
def test_half_a_character_in_a_result_can_be_sent() -> None:
    """A lone surrogate is replaced or escaped: text and data survive encoding."""
    returned = read_envelope(b'{"result": {"message": "a\\ud800b", "data": {"k": "\\ud800"}}}')
    returned.message.encode()
    (returned.data or b"").decode()


@pytest.mark.attack("R05")
def test_a_result_that_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """A FIFO does not block, a link is not followed, a folder is none, two gigabytes (sparse) are not read."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2 << 30)
    for name in ("fifo", "link", "folder", "large", "missing"):
        with pytest.raises(OutputRefusedError, match=name):
            read_file(tmp_path, name, 1000)


@pytest.mark.attack("R07")
def test_what_a_tool_prints_is_never_its_result() -> None:
    """A forged line of protocol on stdout leaves the call without a result."""
    forged = b'{"type":"result","ok":true,"user":"admin"}\n'
    returned = interpret(an_exit(stdout=forged), None, 5)
    assert returned.error is not None
    assert "admin" not in returned.message


@pytest.mark.attack("R08")
def test_names_of_artifacts_stay_in_their_folder(tmp_path: Path) -> None:
    """Only a file that the collector found by walking has a name, so no name can lead elsewhere."""
    (tmp_path / "good.txt").write_text("x")
    (tmp_path / ("n" * 250)).write_text("x")
    (tmp_path / "tab\there").write_text("x")
    with collect(tmp_path) as collected:
        assert [file.name for file in collected.files] == ["good.txt", "n" * 250]
    named = [
        {"name": name, "content": "x"} for name in ("../../other/x", "/etc/x", "C:\\x", "", ".", "..", "a/../../b")
    ]
    named += [{"name": "n" * 300, "content": "x"}, {"name": "a\0b", "content": "x"}]
    returned = read_envelope(json.dumps({"result": {"message": "", "data_objects": named}}).encode())
    for item in returned.data_objects:
        assert ".." not in PurePosixPath(item.name).parts
        assert not item.name.startswith("/")
        assert "\0" not in item.name
        assert item.name not in {"", "."}


@pytest.mark.attack("R10")
def test_a_result_does_not_excuse_a_tool_that_was_stopped() -> None:
    """It ran out of time, failed or was killed after writing a good result: that decides."""
    good = b'{"result": {"message": "all done"}}'
    for ended in (an_exit(code=None, timed_out=True), an_exit(code=1), an_exit(code=None)):
        returned = interpret(ended, good, 5)
        assert returned.error is not None
        assert "all done" not in returned.message


@pytest.mark.attack("R11")
async def test_a_result_that_a_background_process_writes_later_does_not_exist() -> None:
    """When the call has ended no process is left to write it."""
    late = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.5)\n"
        "    open('result.json', 'w').write('{}')\n"
        "    os._exit(0)\n"
        "print('parent')"
    )
    with throwaway_base() as base:
        async with sandbox(base) as backend, backend.workspaces.new() as workspace:
            async with backend.start([PYTHON, "-c", late], ENVIRONMENT, policy_with(), workspace) as process:
                ended = await process.wait()
            assert ended.stdout == b"parent\n"
            with pytest.raises(OutputRefusedError, match="result"):
                read_file(workspace.host, "result.json", 1000)


@pytest.mark.attack("M01", "M02")
@pytest.mark.parametrize("tool_dir", ["../../etc", "/usr/bin", "a/../../b"])
def test_a_tool_folder_outside_its_toolset_is_refused(tmp_path: Path, tool_dir: str) -> None:
    """At load, with the key by name."""
    path = tmp_path / "manifest.yaml"
    path.write_text(f"tools:\n  evil: {{executable: x, tool_dir: {tool_dir}}}\n")
    manifest = load_manifest(path)
    assert manifest.tools == {}
    assert "tool_dir" in str(manifest.problems[0])


@pytest.mark.attack("M04")
def test_a_tool_folder_that_leads_out_of_its_toolset_by_a_link_shows_nothing_of_it(tmp_path: Path) -> None:
    """What a tool sees is a copy, and a tree with a link out of it is not copied."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set/evil").symlink_to("/")
    for source in (tmp_path / "set", tmp_path / "set/evil"):
        with throwaway_base() as base, pytest.raises(PublishError, match="evil"):
            publish_tree(source, base, "toolset")


@pytest.mark.attack("M05")
async def test_a_program_that_is_swapped_after_its_check_is_not_what_runs(tmp_path: Path) -> None:
    """The checked copy has the digest of its content for a name, and nobody but the worker can change it."""
    (tmp_path / "tool.py").write_text("print('checked')")
    with throwaway_base() as base:
        async with sandbox(base / "sandbox") as backend:
            copy = publish_tree(tmp_path, base / "sandbox", "toolset")
            (tmp_path / "other.py").write_text("print('swapped')")
            (tmp_path / "other.py").replace(tmp_path / "tool.py")
            policy = policy_with().with_mounts(Mount(copy, PurePosixPath("/agent")))
            ended = await run(backend, [PYTHON, "/agent/tool.py"], policy)
            assert publish_tree(tmp_path, base / "sandbox", "toolset") != copy
    assert ended.stdout == b"checked\n"


@pytest.mark.attack("M07", "M10")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sandbox_profile", "permisive"),
        ("sandbox_profile", "declared"),
        ("timeout_seconds", "0"),
        ("timeout_seconds", "-5"),
        ("timeout_seconds", "1e9"),
    ],
)
def test_a_profile_or_time_that_means_nothing_is_a_load_error(tmp_path: Path, key: str, value: str) -> None:
    """Never a weaker default."""
    path = tmp_path / "manifest.yaml"
    path.write_text(f"tools:\n  odd: {{executable: x, {key}: {value}}}\n")
    manifest = load_manifest(path)
    assert manifest.tools == {}
    assert key in str(manifest.problems[0])


@pytest.mark.attack("M08")
def test_an_agent_folder_cant_ask_for_a_profile(tmp_path: Path) -> None:
    """Tools that come with an agent run under `declared`; there is no key for another profile."""
    path = tmp_path / "tool.toml"
    path.write_text('name = "evil"\ndescription = "x"\ncommand = ["true"]\nsandbox_profile = "permissive"\n')
    with pytest.raises(ConfigError, match="sandbox_profile"):
        load_declared_tool(path)


@pytest.mark.attack("M11", "M13")
def test_an_archive_is_no_toolset_and_no_tree_grows_beyond_its_limits(tmp_path: Path) -> None:
    """Nothing is unpacked, so no entry lands elsewhere or becomes huge; folders are counted before they are copied."""
    archive = tmp_path / "set.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../../etc/cron.d/x", "x")
        file.writestr("zeros", bytes(1 << 20))
    (path,) = find_manifests([archive])
    with pytest.raises(ConfigError):
        load_manifest(path)
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(20):
        (tree / str(number)).touch()
    with throwaway_base() as base:
        with pytest.raises(PublishError, match="more than 10 entries"):
            publish_tree(tree, base, "toolset", PublishLimits(entries=10))
        with (tree / "large").open("wb") as sparse:
            sparse.truncate(10 << 30)
        with pytest.raises(PublishError, match="bytes"):
            publish_tree(tree, base, "toolset")


@pytest.mark.attack("M14")
def test_a_yaml_bomb_is_refused_before_it_grows() -> None:
    """Aliases are counted, and tags that make objects are unknown."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    for text in ("\n".join(lines), "a: &a [*a]", "a: !!python/object/apply:os.system [id]"):
        with pytest.raises(ConfigError):
            parse_yaml(text, "f.yaml").value()


@pytest.mark.attack("M16")
async def test_arguments_never_become_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a call's arguments nor the worker's own environment add to what the tool is given."""
    smuggled = {"LD_PRELOAD": "/work/x.so", "PYTHONPATH": "/work", "BASH_ENV": "/work/x", "PATH": "/work"}
    for name, value in smuggled.items():
        monkeypatch.setenv(name, value if name != "PATH" else os.environ["PATH"])
    with throwaway_base() as base:
        async with sandbox(base) as backend:
            stdin = json.dumps({"env": smuggled}).encode()
            ended = await run(backend, "import os; print(sorted(os.environ), os.environ['PATH'])", policy_with(), stdin)
    assert ended.stdout.decode() == f"['LANG', 'PATH', 'PWD'] {ENVIRONMENT['PATH']}\n"


@pytest.mark.attack("M17")
@pytest.mark.parametrize("name", ["help", "output", "--output", "path=x"])
def test_a_flag_that_was_not_declared_is_refused_before_anything_runs(name: str) -> None:
    """The model can't add flags of its own."""
    with pytest.raises(RefusedArgumentsError, match="there is no argument"):
        as_flags({name: "/etc/x"}, {"path": {"type": "string"}})


@pytest.mark.attack("M19")
async def test_a_tool_that_hangs_floods_or_forks_when_asked_for_its_schema_stops_no_other(tmp_path: Path) -> None:
    """Asked in the same sandbox, under a short limit of its own."""
    folder = toolset(
        tmp_path,
        good=GOOD,
        hangs="import time\ntime.sleep(60)\n",
        floods="import os\nfor _ in range(300): os.write(1, b'x' * 65536)\n",
        forks="import os, time\nfor _ in range(4): os.fork()\ntime.sleep(60)\n",
        calls="import socket\nsocket.socket(socket.AF_UNIX)\n",
    )
    async with discovery(folder, limit_s=4) as found:
        inventory = await found.read()
    assert set(inventory.tools) == {"good"}
    assert {problem.tool for problem in inventory.problems} == {"hangs", "floods", "forks", "calls"}


@pytest.mark.attack("M20")
@pytest.mark.parametrize(
    "said",
    [
        None,
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    ],
)
async def test_a_sandbox_that_cant_start_is_an_error_and_never_none_at_all(said: str | None) -> None:
    """Bubblewrap missing, user namespaces refused, /proc masked: told by name, and nothing is handed out."""
    with throwaway_base() as base:
        program = base / "bwrap"
        if said is not None:
            program.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
            program.chmod(0o755)
        with pytest.raises(SandboxUnavailableError) as caught:
            async with sandbox(base, bwrap=program):
                pass
    assert caught.value.missing
    assert caught.value.hint
