"""What a tool can see, write and reach under bwrap, for a worker that is root and for one that is not."""

import asyncio
import dataclasses
import os
import socket
from pathlib import Path, PurePosixPath

import pytest
from tests.support.sandboxes import (
    ENVIRONMENT,
    PYTHON,
    appeared,
    policy_with,
    processes_with,
    run,
    run_as,
    sandbox,
    until,
)

from toolmesh_sandbox.landlock import version
from toolmesh_sandbox.policy import Mount
from toolmesh_sandbox.profiles import profile

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.mark.requirement("sandbox:environment")
async def test_only_the_given_variables_are_in_the_environment(
    user: str, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's environment is neither in the tool's own nor in that of any process it can see."""
    monkeypatch.setenv("WORKER_SECRET", "canary-of-the-worker")
    code = (
        "import os, glob\n"
        "print(sorted(os.environ))\n"
        "seen = b''.join(open(p, 'rb').read() for p in glob.glob('/proc/[0-9]*/environ'))\n"
        "print(b'canary' in seen, b'LANG' in seen)"
    )
    ended = await run_as(user, base, code)
    assert ended.stdout.decode().splitlines() == ["['LANG', 'PATH', 'PWD']", "False True"], ended


@pytest.mark.requirement("sandbox:files")
async def test_files_that_are_not_the_systems_do_not_exist(user: str, base: Path) -> None:
    """Homes, service data, secrets, other calls' folders and most of /etc are absent under standard."""
    code = (
        "import os\n"
        "for p in ['/root', '/home', '/srv', '/run', '/var', '/sys', '/opt', '/etc/shadow', '/etc/ssh', '/etc/hostname',\n"
        f"          '/etc/ssl/private', '/mnt', {str(base)!r}]:\n"
        "    if os.path.exists(p): print('sees', p)\n"
        "print(sorted(os.listdir('/')))\n"
        "print(open('/etc/passwd').read().count(':x:'), open('/etc/group').read().count(':x:'))"
    )
    ended = await run_as(user, base, code)
    top, users = ended.stdout.decode().splitlines()
    assert set(eval(top)) <= {  # noqa: S307 - a list that our own code printed
        *("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr", "work")
    }, ended
    assert users == "2 2"


@pytest.mark.requirement("sandbox:processes")
async def test_no_process_of_the_host_is_visible(user: str, base: Path) -> None:
    """The process table inside holds bubblewrap's pid 1 and the tool."""
    ended = await run_as(user, base, "import os; print([p for p in os.listdir('/proc') if p.isdigit()], os.getuid())")
    assert ended.stdout.decode() == "['1', '2'] 1000\n", ended


@pytest.mark.requirement("sandbox:files")
async def test_the_workspace_of_another_call_is_not_visible(base: Path) -> None:
    """While one call runs with a file in its workspace and in /tmp, another finds neither anywhere, nor later one."""
    keep = "open('of-another-call', 'w'); open('/tmp/of-another-call', 'w'); open('ready', 'w'); import time; time.sleep(60)"
    search = (
        "import os\n"
        "print([f for f, _, names in os.walk('/') if 'of-another-call' in names])\n"
        "print(os.listdir('/work'), os.listdir('/tmp'))"
    )
    async with sandbox(base, profiles=["standard", "permissive"]) as backend:
        async with (
            backend.workspaces.new() as workspace,
            backend.start([PYTHON, "-c", keep], {}, profile("standard"), workspace),
        ):
            await until((workspace.host / "ready").exists)
            during = await run(backend, search, policy_with("permissive"))
        later = await run(backend, search)
    for ended in (during, later):
        assert ended.stdout.decode() == "[]\n['input', 'output'] []\n", ended


@pytest.mark.requirement("sandbox:files")
async def test_only_the_workspace_and_folders_in_memory_can_be_written(user: str, base: Path) -> None:
    """A file can be made in /work, /tmp and /dev/shm and in no other folder that exists inside."""
    code = (
        "import os\n"
        "def probe(folder):\n"
        "    try:\n"
        "        os.close(os.open(folder + '/probe', os.O_CREAT | os.O_WRONLY))\n"
        "        os.unlink(folder + '/probe')\n"
        "        return True\n"
        "    except OSError:\n"
        "        return False\n"
        "found = {f for f, _, _ in os.walk('/') if not f.startswith(('/proc/', '/usr/share/')) and probe(f)}\n"
        "print(sorted(found))\n"
        "for p in ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/usr/bin/env', '/etc/passwd']:\n"
        "    try: open(p, 'w'); print('opened', p)\n"
        "    except OSError: pass\n"
    )
    ended = await run_as(user, base, code)
    assert ended.stdout.decode() == "['/dev/shm', '/tmp', '/work', '/work/input', '/work/output']\n", ended


@pytest.mark.parametrize("mode", ["bwrap", "prlimit-only"])
async def test_no_descriptor_is_inherited(user: str, base: Path, mode: str) -> None:
    """The tool has its three streams and what it opens itself, though the worker holds an inheritable secret."""
    secret = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
        ended = await run_as(user, base, code, mode=mode)
    finally:
        os.close(secret)
    assert ended.stdout.decode() == "['0', '1', '2', '3']\n", ended


async def test_the_options_and_the_environment_are_in_no_argument_vector(base: Path) -> None:
    """What the process table of the host shows of a call holds no value of its environment."""
    async with sandbox(base) as backend, backend.workspaces.new() as workspace:
        env = {"TOKEN": "canary-of-the-call"}
        async with backend.start(["/bin/sleep", "87.5"], env, profile("standard"), workspace):
            await appeared(b"sleep\x0087.5")
            assert processes_with(b"canary-of-the-call") == []


@pytest.mark.requirement("sandbox:network")
async def test_restrictive_has_no_network_not_even_loopback(user: str, base: Path) -> None:
    """A listener on the host's loopback can't be reached, and there is no other interface."""
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        code = (
            "import socket\n"
            f"try: socket.create_connection(('127.0.0.1', {port}), 2); print('connected')\n"
            "except OSError as e: print('refused')"
        )
        ended = await run_as(user, base, code, name="restrictive")
        reached = await run_as(user, base, code, name="standard")
    assert ended.stdout.decode().splitlines() == ["refused"], ended
    assert reached.stdout.decode().splitlines()[-1] == "connected"


async def test_no_privilege_is_left_and_no_namespace_can_be_made(user: str, base: Path) -> None:
    """No capability in any set, no_new_privs set, and unshare of a user namespace fails."""
    code = (
        "import ctypes, re\n"
        "text = open('/proc/self/status').read()\n"
        "print(sorted(set(re.findall(r'Cap\\w+:\\t(\\w+)', text))), re.findall(r'NoNewPrivs:\\t(\\d)', text))\n"
        "print(ctypes.CDLL(None).unshare(0x10000000))"
    )
    ended = await run_as(user, base, code)
    assert ended.stdout.decode() == "['0000000000000000'] ['1']\n-1\n", ended


async def test_permissive_shows_more_but_no_home_no_run_and_nothing_hidden(user: str, base: Path) -> None:
    """The wide view leaves out homes, service sockets, password files and the sandbox's own folder."""
    code = (
        "import os\n"
        "for p in ['/root', '/home', '/run', '/etc/shadow', '/etc/sudoers', '/etc/ssl/private', '/etc/ssh', '/sys']:\n"
        "    if os.path.exists(p): print('sees', p)\n"
        f"print(os.path.exists({str(base)!r}), os.listdir('/var'), os.path.isdir('/opt') or os.path.isdir('/mnt'))"
    )
    ended = await run_as(user, base, code, name="permissive")
    assert ended.stdout.decode() == "False [] True\n", ended


@needs_root
@pytest.mark.requirement("sandbox:dropped-uid")
async def test_a_root_workers_tool_runs_under_a_uid_of_its_own(base: Path) -> None:
    """Seen from the host, no two running calls share a uid, and none is root."""
    async with (
        sandbox(base) as backend,
        backend.workspaces.new() as first,
        backend.workspaces.new() as second,
        backend.start([PYTHON, "-c", "print(1); input()"], {}, profile("standard"), first, b"x" * 10) as one,
        backend.start(["/bin/sleep", "30.125"], {}, profile("standard"), second) as two,
    ):
        uid = await _host_uid_of(b"sleep\x0030.125")
        assert uid == second.uid
        assert first.uid != second.uid
        assert uid >= 61184
        assert (await two.stop(1)).signal == 15
        assert (await one.wait()).code == 0


def _status_of(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def _host_uid_of(command: bytes) -> int:
    """Uid of the process with this command line, the same in all four places."""
    pid = await appeared(command)
    uids = set(_status_of(pid).partition("Uid:")[2].splitlines()[0].split())
    assert len(uids) == 1
    return int(uids.pop())


async def test_a_mount_is_read_only_unless_it_says_otherwise(base: Path) -> None:
    """A toolset folder can be read at its target and not changed; a writable mount can."""
    (base / "shared").mkdir()
    (base / "shared").chmod(0o777)
    (base / "shared" / "tool.py").write_text("print('from the toolset')")
    mounts = (
        Mount(base / "shared", PurePosixPath("/opt/toolmesh/toolset")),
        Mount(base / "shared", PurePosixPath("/data"), read_only=False),
    )
    code = (
        "import runpy; runpy.run_path('/opt/toolmesh/toolset/tool.py')\n"
        "import os, tempfile; tempfile.mkstemp(dir='/data')\n"
        "try: open('/opt/toolmesh/toolset/made', 'w'); print('wrote')\n"
        "except OSError as e: print(e.errno)"
    )
    with_folder = base / "base"
    async with sandbox(with_folder) as backend:
        for name in ("standard", "permissive"):
            ended = await run(backend, code, profile(name).with_mounts(*mounts))
            assert ended.stdout.decode() == "from the toolset\n30\n", ended
        assert [str(backend.path_inside(mount)) for mount in mounts] == ["/opt/toolmesh/toolset", "/data"]
    assert len(list((base / "shared").iterdir())) == 3


async def test_what_the_operator_hides_is_hidden_in_the_widest_profile(base: Path) -> None:
    """A hidden folder below a shown one is empty, a hidden file can't be opened."""
    hidden = Path("/etc/alternatives")
    async with sandbox(base, profiles=["permissive"], hidden=(hidden, Path("/etc/services"))) as backend:
        code = (
            f"import os; print(os.listdir({str(hidden)!r}))\n"
            "try: print(open('/etc/services').read())\n"
            "except PermissionError: print('closed')"
        )
        ended = await run(backend, code, policy_with("permissive"))
    assert ended.stdout.decode() == "[]\nclosed\n", ended


@pytest.mark.parametrize("name", ["standard", "restrictive"])
async def test_where_sockets_are_allowed_only_the_workspaces_own_is_reached(base: Path, name: str) -> None:
    """The tool connects to a socket file in its workspace, and not to an abstract one of the host."""
    if version() < 6:
        pytest.skip("needs Landlock 6 (Linux 6.12)")
    abstract = f"toolmesh-test-{os.getpid()}"
    code = (
        "import socket\n"
        f"for address in ('own.sock', '\\0{abstract}'):\n"
        "    try: socket.socket(socket.AF_UNIX).connect(address); print('connected')\n"
        "    except OSError as e: print('refused')"
    )
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as host:
        host.bind(f"\0{abstract}")
        host.listen()
        async with sandbox(base, profiles=[name]) as backend, backend.workspaces.new() as workspace:
            own.bind(str(workspace.host / "own.sock"))
            own.listen()
            workspace.adopt("own.sock")
            policy = dataclasses.replace(policy_with(name), unix_sockets=True)
            async with backend.start([PYTHON, "-c", code], ENVIRONMENT, policy, workspace) as process:
                ended = await process.wait()
            async with backend.start([PYTHON, "-c", code], ENVIRONMENT, policy_with(name), workspace) as process:
                closed = await process.wait()
    assert ended.stdout.decode().split() == ["connected", "refused"], ended
    assert b"Errno" in closed.stderr or closed.stdout.decode().split() == ["refused", "refused"], closed
