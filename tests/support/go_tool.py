"""The Go program of tests/toolsets/go_greeter, built with the machine's own Go, as a toolset."""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

_REPOSITORY = Path(__file__).parents[2]
_SOURCE = _REPOSITORY / "tests" / "toolsets" / "go_greeter"
_CACHE = _REPOSITORY / ".pytest_cache" / "go"
_BUILD_S = 300
TOOLS = ("greet", "quote", "card", "fail", "break", "flood", "nothing", "wait", "stay", "deaf", "headers", "ask")


def go_toolset(folder: Path) -> Path:
    """Builds the program, which takes some seconds the first time, and writes a toolset with all its tools."""
    go = shutil.which("go")
    assert go is not None, "the tests build a tool in Go: apt-get install golang-go"
    _CACHE.mkdir(parents=True, exist_ok=True)
    target = folder / "greeter" / "greeter"
    target.parent.mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(_CACHE),
        "GOCACHE": str(_CACHE / "build"),
        "GOPATH": str(_CACHE / "path"),
        "GOFLAGS": "-trimpath -mod=mod",
        "GOPROXY": "off",
        "CGO_ENABLED": "0",
    }
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [go, "build", "-o", target, "."],
            cwd=_SOURCE,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILD_S,
        )
    assert done.returncode == 0, done.stderr
    entry = {"executable": "greeter", "tool_dir": "greeter", "runtime": "go"}
    manifest = {"version": 1, "tools": dict.fromkeys(TOOLS, entry)}
    (folder / "manifest.yaml").write_text(json.dumps(manifest))
    return folder
