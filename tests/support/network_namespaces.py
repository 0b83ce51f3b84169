"""Machines of one test's own: network namespaces on a switch, without a way out, whose cables can be cut.

Making them needs root and `ip` of iproute2. What a cut machine sends, and what is sent to it, vanishes without a
word, so that connections are half-open.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.made_by import made_by_this_process, maker_is_gone

_CLONE_NEWNET = 0x40000000
_NAMESPACES = Path("/run/netns")
_SUBNET = "10.213.0"
_SWITCH = "switch"
_CABLE = "eth0"
_COMMAND_S = 10.0


@dataclass(frozen=True)
class Machine:
    """A network namespace with one address.

    Attributes:
        namespace: Its name for `ip netns`.
        address: Where the other machines of its network reach it.
        port: The other end of its cable, in the switch.
    """

    namespace: str
    address: str
    port: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """What the command line of a process begins with that is to run on it; the process keeps its id."""
        return ("nsenter", f"--net={_path(self.namespace)}", "--")

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Have this thread on it: sockets that it opens inside the block, and processes that it starts, are there."""
        setns = ctypes.CDLL(None, use_errno=True).setns
        with Path("/proc/thread-self/ns/net").open("rb") as home, _path(self.namespace).open("rb") as there:
            _enter(setns, there.fileno())
            try:
                yield
            finally:
                _enter(setns, home.fileno())


@dataclass(frozen=True)
class Network:
    """Some machines on one switch."""

    switch: str
    machines: Mapping[str, Machine]

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def cut(self, name: str) -> None:
        """Pull a machine's cable: from now on packets from and to it vanish."""
        _ip("-netns", self.switch, "link", "set", self.machines[name].port, "nomaster")

    def heal(self, name: str) -> None:
        """Plug it in again."""
        _ip("-netns", self.switch, "link", "set", self.machines[name].port, "master", _SWITCH)


@contextlib.contextmanager
def network(*names: str) -> Iterator[Network]:
    """Machines of these names, gone at the end with their namespaces, also where making them failed half way.

    Raises:
        AssertionError: this process may not make them, so the test can't tell anything.
    """
    assert os.geteuid() == 0, "this test makes network namespaces: run it as root"
    assert shutil.which("ip"), "this test makes network namespaces with `ip`: apt-get install iproute2"
    _sweep()
    unique = made_by_this_process()
    with contextlib.ExitStack() as stack:
        switch = stack.enter_context(_namespace(f"{unique}-{_SWITCH}"))
        _ip("-netns", switch, "link", "add", _SWITCH, "type", "bridge")
        _ip("-netns", switch, "link", "set", _SWITCH, "up")
        machines = {}
        for number, name in enumerate(names, start=1):
            namespace = stack.enter_context(_namespace(f"{unique}-{name}"))
            machine = Machine(namespace, f"{_SUBNET}.{number}", f"port{number}")
            _plug_in(machine, switch)
            machines[name] = machine
        yield Network(switch, machines)


def _sweep() -> None:
    """Remove the namespaces of tests that were killed."""
    for name in [path.name for path in _NAMESPACES.iterdir()] if _NAMESPACES.is_dir() else ():
        if maker_is_gone(name):
            with contextlib.suppress(AssertionError):  # another test sweeps, too
                _ip("netns", "delete", name)


@contextlib.contextmanager
def _namespace(name: str) -> Iterator[str]:
    _ip("netns", "add", name)
    try:
        yield name
    finally:
        # Its end of the cable goes with it, even while a process that was killed is still in it.
        _ip("netns", "delete", name)


def _plug_in(machine: Machine, switch: str) -> None:
    inside = ("-netns", machine.namespace)
    # Both ends are made where they belong: a name in this process's own namespace could be another test's.
    _ip(*inside, "link", "add", _CABLE, "type", "veth", "peer", "name", machine.port, "netns", switch)
    _ip(*inside, "address", "add", f"{machine.address}/24", "dev", _CABLE)
    for link in ("lo", _CABLE):
        _ip(*inside, "link", "set", link, "up")
    _ip("-netns", switch, "link", "set", machine.port, "master", _SWITCH, "up")


def _path(namespace: str) -> Path:
    return _NAMESPACES / namespace


def _ip(*arguments: str) -> None:
    ended = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    assert ended.returncode == 0, f"ip {' '.join(arguments)}: {ended.stderr.strip()}"


def _enter(setns: Callable[[int, int], int], descriptor: int) -> None:
    if setns(descriptor, _CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
