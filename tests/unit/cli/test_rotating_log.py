"""Children's log files."""

import stat
from pathlib import Path

from toolmesh_cli.rotating_log import RotatingLog


def test_a_start_keeps_the_log_before_it(tmp_path: Path) -> None:
    """The last run's log is one file further, and the new one is private."""
    path = tmp_path / "worker-1.log"
    for text in (b"first", b"second"):
        with RotatingLog(path) as log:
            log.write(text)

    assert path.read_bytes() == b"second\n"
    assert (tmp_path / "worker-1.log.1").read_bytes() == b"first\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_never_grows_over_its_limit(tmp_path: Path) -> None:
    """Whatever is written, two files of the limit's size are all there is."""
    path = tmp_path / "worker-1.log"
    with RotatingLog(path, max_bytes=100) as log:
        for number in range(100):
            log.write(b"line %03d" % number)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["worker-1.log", "worker-1.log.1"]
    assert all(file.stat().st_size <= 100 for file in tmp_path.iterdir())
    assert path.read_bytes().endswith(b"line 099\n")
