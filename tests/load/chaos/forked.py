"""Starts programs as forks of a process that has their modules: a fresh interpreter would spend a second on imports.

A fork has done nothing but import. Everything that it does, and all that is done to it, is its own.
"""

import importlib
import multiprocessing
import os
import socket
from contextlib import nullcontext
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from tests.load.chaos.death import die_with_parent
from tests.support.network_namespaces import Machine

__all__ = ["fork", "start_forks_parent"]

_MODULES = ("tests.load.chaos.forks_parent", "tests.load.chaos.worker_program", "tests.load.chaos.executor_program")


def fork(
    module: str, order: Path, control: socket.socket, log: Path, machine: Machine | None = None
) -> ForkServerProcess:
    """Start `main(order, control)` of a module in a process of its own, on a machine, stderr appended to `log`."""
    process = _context().Process(target=_enter, args=(module, order, control, log, machine))
    process.start()
    return process


def start_forks_parent() -> None:
    """Start the process that forks; from the thread that it is to end with."""
    _context()
    forkserver.ensure_running()


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_MODULES))
    return context


def _enter(module: str, order: Path, control: socket.socket, log: Path, machine: Machine | None) -> None:
    die_with_parent(os.getppid())
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    with nullcontext() if machine is None else machine.entered():
        importlib.import_module(module).main(order, control)
