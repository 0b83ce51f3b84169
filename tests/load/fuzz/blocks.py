"""Building blocks of hostile tools: pieces of Python that run inside the sandbox and nowhere else.

A block sees RESULT, STATUS and OUTPUT, the paths of the tool's contract. What it may not do raises an error, which the
program that executes it swallows.
"""

from dataclasses import dataclass

BLOCKS: dict[str, str] = {
    # processes
    "fork_sleepers": """
import os, time
for _ in range(40):
    if os.fork() == 0:
        time.sleep(60); os._exit(0)""",
    "fork_bomb": """
import os, time
me, stop = os.getpid(), time.monotonic() + 0.4
while time.monotonic() < stop:
    try: os.fork()
    except OSError: time.sleep(0.01)
if os.getpid() != me: os._exit(0)""",
    "daemon": """
import os, time
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        while True:
            try: open(OUTPUT + "/late", "a").write("late")
            except OSError: pass
            time.sleep(0.05)
    os._exit(0)""",
    "sessions": """
import os, time
for _ in range(20):
    if os.fork() == 0:
        try: os.setsid()
        except OSError: pass
        time.sleep(60); os._exit(0)""",
    "threads": """
import threading, time
for _ in range(300): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()""",
    "zombies": """
import os
for _ in range(60):
    if os.fork() == 0: os._exit(0)""",
    "stopped_child": """
import os, signal
if os.fork() == 0:
    os.kill(os.getpid(), signal.SIGSTOP); os._exit(0)""",
    "deaf": """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)""",
    "blocked_signals": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))",
    "signal_parents": """
import os, signal
for pid in (1, os.getppid(), 0x7fffffff):
    for number in (9, 15, 19, 2, 11):
        try: os.kill(pid, number)
        except OSError: pass""",
    "prctl": """
import ctypes
libc = ctypes.CDLL(None)
libc.prctl(4, 0); libc.prctl(1, 0); libc.prctl(15, b") R 1 (\\n"); libc.prctl(36, 1)""",
    "priorities": """
import os
os.nice(19); os.sched_setaffinity(0, {0}); os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))""",
    "exec_odd": """
import subprocess
for command in (["/bin/false"], ["/dev/null"], ["/"], ["/nothing"], ["/proc/self/exe", "-c", "0"], ["/bin/echo"] + ["x" * 1000] * 500,
                [OUTPUT], ["/bin/sh", "-c", "kill -9 $$"]):
    try: subprocess.run(command, timeout=1, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError): pass""",
    "cpu": """
import time
stop = time.monotonic() + 0.3
while time.monotonic() < stop: pass""",
    # descriptors and streams
    "close_streams": "import os; [os.close(number) for number in (0, 1, 2)]",
    "close_all": "import os; os.closerange(0, 256)",
    "hold_streams": """
import os, time
if os.fork() == 0: time.sleep(60); os._exit(0)""",
    "flood_stdout": "import os; [os.write(1, b'0123456789abcdef' * 4096) for _ in range(100)]",
    "flood_stderr": "import os; [os.write(2, b'\\xff\\xfe\\x00\\n' * 16384) for _ in range(100)]",
    "long_line": "import os; [os.write(1, b'x' * 65536) for _ in range(20)]",
    "json_on_stdout": 'import os; os.write(1, b\'{"result": "fake", "error": ""}\\n\')',
    "all_descriptors": """
import os
held = []
try:
    while True: held.append(os.open("/dev/null", 0))
except OSError: pass
if len(held) > 8: [os.close(number) for number in held[8:]]""",
    "pipes": "import os; held = [os.pipe() for _ in range(30)]; [os.set_blocking(w, False) or os.write(w, b'x' * 65536) for _, w in held]",
    "terminal": "import os, pty; pty.openpty()",
    # the status pipe
    "flood_status": """
import os
pipe = os.open(STATUS, os.O_WRONLY | os.O_NONBLOCK)
for _ in range(3000):
    try: os.write(pipe, b'{"status": "busy", "progress": 0.5}\\n')
    except BlockingIOError: pass""",
    "garbage_status": """
import os
pipe = os.open(STATUS, os.O_WRONLY | os.O_NONBLOCK)
for piece in (b"\\xff\\xfe\\n", b"{\\n", b"[" * 30000 + b"\\n", b'{"status": {}}\\n', b"x" * 60000, b'\\n{"status": "' + b"y" * 50000):
    try: os.write(pipe, piece)
    except BlockingIOError: pass""",
    "hold_status": """
import os, time
pipe = os.open(STATUS, os.O_WRONLY | os.O_NONBLOCK)
if os.fork() == 0: time.sleep(60); os._exit(0)""",
    "drink_status": "import os; pipe = os.open(STATUS, os.O_RDWR | os.O_NONBLOCK); os.write(pipe, b'x'); os.read(pipe, 100)",
    "status_to_link": "import os; os.unlink(STATUS); os.symlink('/etc/passwd', STATUS)",
    "status_to_folder": "import os; os.unlink(STATUS); os.mkdir(STATUS)",
    # files
    "outbox_links": """
import os
os.symlink("/etc/passwd", OUTPUT + "/passwd"); os.symlink("/", OUTPUT + "/root"); os.symlink("loop", OUTPUT + "/loop")
open(OUTPUT + "/one", "w").write("1"); os.link(OUTPUT + "/one", OUTPUT + "/two")""",
    "outbox_special": """
import os, socket
os.mkfifo(OUTPUT + "/fifo")
socket.socket(socket.AF_UNIX).bind(OUTPUT + "/socket")""",
    "outbox_gone": "import os; os.rmdir(OUTPUT)",
    "outbox_to_link": "import os; os.rmdir(OUTPUT); os.symlink('/usr', OUTPUT)",
    "outbox_to_file": "import os; os.rmdir(OUTPUT); open(OUTPUT, 'w').write('x')",
    "outbox_flood": "[open(f'{OUTPUT}/{number}', 'w').write('x') for number in range(300)]",
    "outbox_deep": "import os; os.makedirs(OUTPUT + '/d' * 30); open(OUTPUT + '/d' * 30 + '/f', 'w').write('x')",
    "outbox_names": """
import os
for name in (b"a\\nb", b"n" * 255, b"\\xff\\xfe", b"...", b"-rf", "\\u202etxt.exe".encode(), b"\\x1b[31m", b" ", b"CON", b"a\\\\b", b"%2e%2e"):
    open(os.fsencode(OUTPUT) + b"/" + name, "wb").write(b"x")""",
    "outbox_index": "open(OUTPUT + '/.toolmesh-artifacts.json', 'w').write('[' * 5000 + '{\"x\": {\"mime_type\": 5}}')",
    "outbox_useful": "open(OUTPUT + '/report.txt', 'w').write('a report')",
    "sparse": """
for path in (OUTPUT + "/sparse", "sparse"):
    with open(path, "wb") as file: file.truncate(60 << 20)""",
    "huge_sparse": "open('huge', 'wb').truncate(1 << 40)",
    "many_files": "import os; os.mkdir('many'); [open(f'many/{number}', 'w').close() for number in range(1500)]",
    "deep_folders": "import os; [(os.mkdir('d' * 50), os.chdir('d' * 50)) for _ in range(400)]",
    "unlinked": """
held = []
import os
for number in range(10):
    file = open(f"unlinked{number}", "wb"); os.unlink(f"unlinked{number}"); file.write(bytes(1 << 20)); file.flush(); held.append(file)""",
    "no_modes": """
import os
os.mkdir("locked"); open("locked/in", "w").close(); os.chmod("locked", 0); os.chmod(OUTPUT, 0); os.chmod(".", 0)""",
    "odd_modes": "import os; open('setuid', 'w').close(); os.chmod('setuid', 0o6777)",
    "swap_folders": "import os; os.rename('input', 'gone'); os.rename(OUTPUT, 'input'); os.symlink('/', 'output')",
    "locks": "import fcntl; file = open(OUTPUT + '/lock', 'w'); fcntl.flock(file, fcntl.LOCK_EX)",
    "umask": "import os; os.umask(0o777); open('dark', 'w').close(); os.chdir('/')",
    "tmp": "open('/tmp/left', 'wb').write(bytes(1 << 20)); import os; os.mkfifo('/tmp/fifo')",
    "devices": "import os, stat; [os.mknod(f'dev{kind}', kind | 0o666, 0x103) for kind in (stat.S_IFCHR, stat.S_IFBLK)]",
    # memory, network, kernel
    "allocate": "held = bytearray(150 << 20); held[::4096] = b'x' * len(held[::4096])",
    "allocate_much": """
held = []
for _ in range(20):
    piece = bytearray(64 << 20); piece[::4096] = b'x' * len(piece[::4096]); held.append(piece)""",
    "shared_memory": """
import ctypes
open("/dev/shm/left", "wb").write(bytes(1 << 20))
libc = ctypes.CDLL(None); libc.shmget(1234, 4096, 0o1666); libc.semget(1234, 1, 0o1666); libc.msgget(1234, 0o1666)""",
    "memfd": "import os; file = os.memfd_create('x'); [os.write(file, bytes(1 << 20)) for _ in range(20)]",
    "sockets": """
import socket
held = []
for family in range(46):
    for kind in (1, 2, 3, 5):
        try: held.append(socket.socket(family, kind))
        except OSError: pass
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname(), 0.2)""",
    "unix_sockets": """
import socket
for address in ("here", "\\0toolmesh-fuzz", STATUS + ".sock"):
    try:
        server = socket.socket(socket.AF_UNIX); server.bind(address); server.listen()
    except OSError: pass""",
    "kernel": """
import ctypes
libc = ctypes.CDLL(None)
for number in (101, 165, 272, 308, 155, 161, 250, 248, 321, 425, 323, 298, 246, 175, 169, 428, 435, 310, 312):
    libc.syscall(number, 0, 0, 0, 0, 0)""",
    "limits": """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        try: resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY,) * 2)
        except (OSError, ValueError): pass""",
    "own_limits": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
    "proc": """
import os
for path in ("/proc/self/oom_score_adj", "/proc/self/autogroup", "/proc/sys/kernel/core_pattern", "/proc/1/mem", "/proc/self/uid_map"):
    try: open(path, "w").write("0")
    except OSError: pass
for name in os.listdir("/proc/self"):
    try: os.close(os.open(f"/proc/self/{name}", os.O_NONBLOCK))
    except OSError: pass""",
}


@dataclass(frozen=True)
class Ending:
    """How a hostile tool ends.

    Attributes:
        code: the last block.
        fails: by the contract of manifests this can't be a success, whatever came before.
        declared_fails: the same by the contract of declared tools, where only the exit code counts.
    """

    code: str
    fails: bool = True
    declared_fails: bool = False


def _left(code: str) -> Ending:
    """Leave something unusable as the result, and exit with 0."""
    return Ending(f"import os, json, subprocess\n{code}\nos._exit(0)")


_GOOD = '{"result": "done", "error": ""}'

ENDINGS: dict[str, Ending] = {
    "finish": Ending(f"open(RESULT, 'w').write('{_GOOD}')", fails=False),
    "finish_slowly": Ending(f"import time; open(RESULT, 'w').write('{_GOOD}'); time.sleep(60)", False, True),
    "tell_error": Ending('open(RESULT, "w").write(\'{"result": null, "error": "no"}\')'),
    "nothing": Ending("import os; os._exit(0)"),
    "sleep": Ending("import time; time.sleep(60)", declared_fails=True),
    "deaf_sleep": Ending(f"{BLOCKS['deaf']}\nwhile True: signal.pause()", declared_fails=True),
    "spin": Ending("while True: pass", declared_fails=True),
    "stop": Ending("import os; os.kill(os.getpid(), 19)\nimport time; time.sleep(60)", declared_fails=True),
    "exec_sleep": Ending("import os; os.execv('/bin/sleep', ['sleep', '60'])", declared_fails=True),
    "crash": Ending("import ctypes, os; ctypes.string_at(0)", declared_fails=True),
    "result_fifo": _left("os.mkfifo(RESULT)"),
    "result_folder": _left("os.mkdir(RESULT)"),
    "result_link": _left(f"open('good', 'w').write('{_GOOD}'); os.symlink('good', RESULT)"),
    "result_link_out": _left("os.symlink('/proc/self/environ', RESULT)"),
    "result_hard_link": _left(f"open('good', 'w').write('{_GOOD}'); os.link('good', RESULT)"),
    "result_unreadable": Ending(
        f"import os; open(RESULT, 'w').write('{_GOOD}'); os.chmod(RESULT, 0); os._exit(0)", fails=False
    ),
    "result_sparse": _left("open(RESULT, 'wb').truncate(60 << 20)"),
    "result_huge": _left("open(RESULT, 'w').write('{\"result\": \"' + 'x' * (3 << 20) + '\"}')"),
    "result_deep": _left("open(RESULT, 'w').write('{\"result\": ' + '[' * 100000 + ']' * 100000 + '}')"),
    "result_cut": _left(f"open(RESULT, 'w').write('{_GOOD}'[:-3])"),
    "result_empty": _left("open(RESULT, 'w').close()"),
    "result_noise": _left("open(RESULT, 'wb').write(bytes(range(256)) * 16)"),
    "result_no_object": _left("open(RESULT, 'w').write('[1, 2]')"),
    "result_then_failure": Ending(f"import os; open(RESULT, 'w').write('{_GOOD}'); os._exit(3)", declared_fails=True),
    "result_then_killed": Ending(
        f"import os; open(RESULT, 'w').write('{_GOOD}'); os.kill(os.getpid(), 9)", declared_fails=True
    ),
}


def exit_with(code: int) -> Ending:
    """End with an exit code that is not 0."""
    return Ending(f"import os; os._exit({code})", declared_fails=True)


def die_of(number: int) -> Ending:
    """End by a signal that nothing before has ignored."""
    return Ending(
        f"import os, signal\nsignal.pthread_sigmask(signal.SIG_UNBLOCK, set(signal.Signals))\n"
        f"if {number} != 9: signal.signal({number}, signal.SIG_DFL)\n"
        f"os.kill(os.getpid(), {number}); os._exit(1)",
        declared_fails=True,
    )


def system_call(number: int, arguments: tuple[int, ...]) -> str:
    """Any system call, from a child, so that one which ends or stops its caller does not end the tool."""
    given = ", ".join(f"ctypes.c_long({argument})" for argument in arguments)
    return f"import ctypes, os\nif os.fork() == 0:\n    ctypes.CDLL(None).syscall({number}, {given})\n    os._exit(0)"
