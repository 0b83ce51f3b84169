"""Copies of trees that every uid can read: a toolset snapshot, the SDK, a bundled bubblewrap.

A dropped uid can't enter root's home, and a tree that changes while calls run is no version. So a tree is copied once
below the base folder, under the digest of its content, owned by the worker and world-readable.
"""

import dataclasses
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from toolmesh_sandbox.base_folder import subfolder
from toolmesh_sandbox.errors import PublishError
from toolmesh_sandbox.tree_removal import remove_tree

_CHUNK = 1024 * 1024
_READABLE = 0o755
_UNFINISHED = "."
PUBLISHED = ("published", _READABLE)
"""Name and mode of the folder below the base folder."""
_SKIPPED = frozenset({"__pycache__", ".git"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishLimits:
    """The largest tree that may be published."""

    entries: int = 100_000
    total_bytes: int = 4 * 1024**3
    depth: int = 64


def publish_tree(source: Path, base: Path, kind: str, limits: PublishLimits | None = None) -> Path:
    """Copy a tree to `<base>/published/<kind>/<sha256>` and return that path; its name is the tree's digest.

    The copy appears at once and complete, and is made only if it is not there yet. The digest covers names, contents,
    execute bits and link targets. `__pycache__` and `.git` are left out, setuid and other special bits are dropped.

    Args:
        source: the folder to copy.
        base: an opened base folder.
        kind: name of the shelf, such as `toolset`.
        limits: bounds on the tree; None takes the defaults.

    Raises:
        PublishError: the folder is a link, or it holds a link that leads out of it or is absolute, a special file or an
            unreadable one, or it is beyond the limits. The message names the entry.
    """
    if source.is_symlink():
        raise PublishError(f"{source} is a link and not a folder", "give the folder itself")
    try:
        entries = dict(_entries(source, limits or PublishLimits()))
    except OSError as error:
        raise _unreadable(error) from error
    return publish_files(entries, base, kind)


def publish_files(entries: Mapping[str, Path], base: Path, kind: str) -> Path:
    """Publish files, folders and links, each under a relative path; otherwise as `publish_tree`."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise PublishError(f"{kind!r} is not a name for a shelf of published trees", "use lower-case letters")
    shelf = subfolder(subfolder(base, *PUBLISHED), kind, _READABLE)
    staging = shelf / f"{_UNFINISHED}{secrets.token_hex(8)}"
    try:
        existing = shelf / _digest(entries, None)
        if existing.exists():
            os.utime(existing)  # the sweep goes by it
            return existing
        staging.mkdir()
        final = shelf / _digest(entries, staging)
        _check_links(staging, entries)
        staging.chmod(_READABLE)
        try:
            staging.rename(final)
        except OSError:
            if not final.exists():
                raise
    except OSError as error:
        raise _unreadable(error) from error
    finally:
        remove_tree(staging)
    return final


def is_staging(tree: Path) -> bool:
    """Whether this is what a publisher left behind that was killed."""
    return tree.name.startswith(_UNFINISHED)


def _unreadable(error: OSError) -> PublishError:
    return PublishError(f"can't publish {error.filename}: {error.strerror}", "check its mode and owner")


def _entries(source: Path, limits: PublishLimits) -> Iterator[tuple[str, Path]]:
    waiting = [(source, "")]
    count = total = 0
    while waiting:
        folder, prefix = waiting.pop()
        if prefix.count("/") > limits.depth:
            raise PublishError(f"{folder} lies more than {limits.depth} folders deep", "flatten the tree")
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name in _SKIPPED:
                    continue
                count += 1
                total += entry.stat(follow_symlinks=False).st_size
                if count > limits.entries or total > limits.total_bytes:
                    raise PublishError(
                        f"{source} holds more than {limits.entries} entries or {limits.total_bytes} bytes",
                        "publish only what the tools need",
                    )
                yield prefix + entry.name, Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), f"{prefix}{entry.name}/"))


def _digest(entries: Mapping[str, Path], copy_to: Path | None) -> str:
    """Digest of the entries as they are read; with `copy_to`, of exactly the bytes that are copied there."""
    digest = hashlib.sha256()
    for name in sorted(entries):
        source = entries[name]
        target = None if copy_to is None else copy_to / name
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
        mode = source.lstat().st_mode
        if stat.S_ISDIR(mode):
            record = "d"
            if target is not None:
                target.mkdir(exist_ok=True)
                target.chmod(_READABLE)
        elif stat.S_ISLNK(mode):
            record = f"l {source.readlink()}"
            if target is not None:
                target.symlink_to(source.readlink())
        elif stat.S_ISREG(mode):
            executable = bool(mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))
            record = f"f {executable} {_file_digest(source, target, executable=executable)}"
        else:
            raise PublishError(f"{source} is neither a file, a folder nor a link", "remove it from the tree")
        digest.update(f"{name}\0{record}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _file_digest(source: Path, target: Path | None, *, executable: bool) -> str:
    digest = hashlib.sha256()
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as reading, _writer(target) as writing:
        while data := reading.read(_CHUNK):
            digest.update(data)
            writing.write(data)
    if target is not None:
        target.chmod(_READABLE if executable else 0o644)
    return digest.hexdigest()


def _writer(target: Path | None) -> BinaryIO:
    return Path(os.devnull if target is None else target).open("wb")


def _check_links(tree: Path, entries: Mapping[str, Path]) -> None:
    inside = tree.resolve()
    for name, source in entries.items():
        link = tree / name
        if link.is_symlink() and (link.readlink().is_absolute() or not link.resolve().is_relative_to(inside)):
            raise PublishError(
                f"{source} is a link to {link.readlink()}, which lies outside its tree", "replace it by what it shows"
            )
