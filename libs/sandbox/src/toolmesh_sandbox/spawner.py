"""The spawner: one small process per worker that forks a keeper for every call.

It exists for four reasons. A parent-death signal is tied to the thread that spawned, so that must never end. Forking
from a large multi-threaded worker is slow and unsafe. Descriptors, environment and memory of the worker can't leak
into what never had them. And when the worker dies by any cause, the closed sockets end every sandbox.
"""

import gc
import os
import signal
import socket
from typing import NoReturn

from toolmesh_sandbox.keeper import Keeper
from toolmesh_sandbox.launch import Launch, Report
from toolmesh_sandbox.memory_folders import MemoryOrder, answer

MAX_DESCRIPTORS = 16
START, FURNISH = b"S", b"F"
"""The two orders: run a command, make a workspace in memory."""


def main(descriptor: int) -> None:
    """Fork one keeper for each order on the socket `descriptor`, until the worker closes it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    gc.collect()
    gc.freeze()
    gc.disable()
    with socket.socket(fileno=descriptor) as orders:
        while True:
            order, descriptors, _flags, _address = socket.recv_fds(orders, 1, MAX_DESCRIPTORS)
            if not order:
                return
            for each in descriptors:
                os.set_inheritable(each, False)  # received descriptors are inheritable; a tool gets those it is given
            try:
                child = os.fork()
            except OSError:
                child = -1  # the closed control socket tells the worker
            if child == 0:
                orders.close()
                keep(descriptors) if order == START else make(descriptors)
            for each in descriptors:
                os.close(each)


def make(descriptors: list[int]) -> NoReturn:
    """Make a workspace in memory, send its descriptors, and exit."""
    try:
        with socket.socket(fileno=descriptors[0]) as control, os.fdopen(descriptors[1], "rb") as file:
            answer(control, MemoryOrder.decode(file.read()))
    finally:
        os._exit(0)


def keep(descriptors: list[int]) -> NoReturn:
    """Be the keeper of one call, report, and exit."""
    control_descriptor, request, *rest = descriptors
    with socket.socket(fileno=control_descriptor) as control:
        try:
            with os.fdopen(request, "rb") as file:
                launch = Launch.decode(file.read())
            report = Keeper(control, launch, rest).run()
        except Exception as failure:  # noqa: BLE001 - the worker has to be told, whatever it was
            report = Report(error=f"keeper failed: {failure!r}")
        try:
            control.sendall(report.encode())
        except OSError:
            pass  # the worker is gone
        finally:
            os._exit(0)
