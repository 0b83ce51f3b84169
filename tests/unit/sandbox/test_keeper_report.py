"""The worker reads a keeper's report whatever it has sent to the keeper meanwhile."""

import socket

from toolmesh_sandbox.launch import Report
from toolmesh_sandbox.process import _report


async def test_an_order_that_the_keeper_no_longer_read_does_not_lose_its_report() -> None:
    """The kernel resets a connection that is closed with something unread; the report in it counts all the same."""
    worker, keeper = socket.socketpair()
    with worker:
        worker.setblocking(False)
        worker.send(b"T1500\n")
        with keeper:
            keeper.sendall(Report(status=0, wall_ms=7).encode())
        assert (await _report(worker)).wall_ms == 7


async def test_a_keeper_that_ends_without_a_word_is_a_failed_start() -> None:
    """With an order unread and without one."""
    for order in (b"", b"K\n"):
        worker, keeper = socket.socketpair()
        with worker:
            worker.setblocking(False)
            worker.sendall(order)
            keeper.close()
            assert "without a report" in (await _report(worker)).error
