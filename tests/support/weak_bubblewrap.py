"""A bubblewrap that does less than it is told, to see whether anybody notices."""

from pathlib import Path

from toolmesh_sandbox.bwrap_binary import find_bwrap


def weakened(
    base: Path,
    *,
    drop: dict[str, int] | None = None,
    refuse: dict[str, str] | None = None,
    when: str = "",
    instead: tuple[str, str] = ("", ""),
) -> Path:
    """A bubblewrap that leaves options out (with so many words), or fails with a text when it is given one.

    Args:
        base: where to put it.
        drop: option to the number of its own words.
        refuse: option to what is said about it.
        when: an option without which it does all that it is told.
        instead: words, and those that it takes in their place; both as they are written in a command line.
    """
    program = base / "weak-bwrap"
    program.write_text(
        "#!/usr/bin/python3 -IS\n"
        "import os, sys\n"
        f"drop, refuse = {drop or {}!r}, {refuse or {}!r}\n"
        "def less(words):\n"
        "    kept = []\n"
        "    while words:\n"
        "        word = words.pop(0)\n"
        "        if word in refuse: sys.exit('bwrap: ' + refuse[word])\n"
        "        if word in drop: del words[:drop[word]]\n"
        "        else: kept.append(word)\n"
        "    return kept\n"
        "words = os.read(3, 1 << 20).decode().split('\\0')[:-1]\n"
        f"if {when!r} and {when!r} not in words: drop = refuse = {{}}\n"
        f"old, new = {instead[0].split()!r}, {instead[1].split()!r}\n"
        "at = [i for i in range(len(words)) if old and words[i : i + len(old)] == old]\n"
        "for i in at: words[i : i + len(old)] = new\n"
        "words = less(words)\n"
        "end = sys.argv.index('--')\n"
        "own = less(sys.argv[:end])\n"
        "new = os.memfd_create('x')\n"
        "os.write(new, b''.join(w.encode() + b'\\0' for w in words)); os.lseek(new, 0, 0); os.dup2(new, 3)\n"
        f"os.execve({str(find_bwrap(None, base))!r}, own + sys.argv[end:], {{}})\n"
    )
    program.chmod(0o755)
    return program
