"""Numbers of the system calls that the filter names, from the kernel's tables for x86-64 and aarch64.

An entry is a name and its number on each machine (arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h); `-` where a machine has no such call.
"""

NEWEST_REVIEWED = 470
"""The highest number (`listns`, Linux 6.19) whose meaning was looked at; calls above it don't exist for a tool."""

_TABLE = """
accept 43 202; accept4 288 242; acct 163 89; add_key 248 217; adjtimex 159 171; bind 49 200; bpf 321 280;
chmod 90 -; chroot 161 51; clock_adjtime 305 266; clock_settime 227 112; clone 56 220; clone3 435 435;
connect 42 203; creat 85 -; delete_module 176 106; fanotify_init 300 262; fanotify_mark 301 263; fchmod 91 52;
fchmodat 268 53; fchmodat2 452 452; finit_module 313 273; fsconfig 431 431; fsmount 432 432; fsopen 430 430;
fspick 433 433; init_module 175 105; inotify_init 253 -; inotify_init1 294 26; io_uring_enter 426 426;
io_uring_register 427 427; io_uring_setup 425 425; ioctl 16 29; ioperm 173 -; iopl 172 -; ioprio_set 251 30;
kcmp 312 272; kexec_file_load 320 294; kexec_load 246 104; keyctl 250 219; listen 50 201; listmount 458 458;
lookup_dcookie 212 18; memfd_secret 447 447; migrate_pages 256 238; mknod 133 -; mknodat 259 33;
modify_ldt 154 -; mount 165 40; mount_setattr 442 442; move_mount 429 429; move_pages 279 239;
mq_getsetattr 245 185; mq_notify 244 184; mq_open 240 180; mq_timedreceive 243 183; mq_timedsend 242 182;
mq_unlink 241 181; msgctl 71 187; msgget 68 186; msgrcv 70 188; msgsnd 69 189; name_to_handle_at 303 264;
open 2 -; open_by_handle_at 304 265; open_tree 428 428; open_tree_attr 467 467; openat 257 56; openat2 437 437;
perf_event_open 298 241; personality 135 92; pidfd_getfd 438 438; pivot_root 155 41; prlimit64 302 261;
process_vm_readv 310 270; process_vm_writev 311 271; ptrace 101 117; quotactl 179 60; quotactl_fd 443 443;
reboot 169 142; request_key 249 218; sched_setaffinity 203 122; sched_setattr 314 274; sched_setparam 142 118;
sched_setscheduler 144 119; semctl 66 191; semget 64 190; semop 65 193; semtimedop 220 192;
setdomainname 171 162; sethostname 170 161; setns 308 268; setpgid 109 154; setpriority 141 140;
setsid 112 157; settimeofday 164 170; shmat 30 196; shmctl 31 195; shmdt 67 197; shmget 29 194; socket 41 198;
socketpair 53 199; statmount 457 457; swapoff 168 225; swapon 167 224; sysfs 139 -; syslog 103 116;
umount2 166 39; unshare 272 97; uselib 134 -; userfaultfd 323 282; vhangup 153 58
"""


def numbers(machine: str) -> dict[str, int]:
    """Names to numbers on `x86_64` or `aarch64`."""
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = (entry.split() for entry in _TABLE.replace("\n", " ").split(";"))
    return {row[0]: int(row[column]) for row in rows if row and row[column] != "-"}
