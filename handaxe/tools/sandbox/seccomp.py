"""System calls allowed in the sandbox, compiled to the kernel's filter language (classic BPF).

The filter is an allowlist, so that future system calls are refused. Refused calls fail with EPERM, which Python shows
as PermissionError; `clone3` fails with ENOSYS, upon which libc falls back to `clone`, whose flags a filter can inspect.
Not allowed are, among others, new processes, sockets (only socketpair), ptrace, mount, namespaces, keys, bpf, perf,
io_uring, userfaultfd, shared memory outside quotas, and leaving the process group.

Calls with effects outside the sandbox are refused, too. `sendmsg`: descriptors in transit are counted for all processes
of a user. `flock`: a lock on a file that all sandboxes see is visible to all; it fails with ENOSYS, which HDF5 and
filelock handle. Of `fcntl`, commands that send signals and would wake a stopped process (owners, F_SETSIG, O_ASYNC,
leases, notifications about folders), and larger pipes, counted as above. POSIX locks (F_SETLK) succeed and lock
nothing: a process never waits for its own locks, and there is no other process. Of `ioctl`, everything except queries
about a descriptor fails with ENOTTY.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["filter_program"]


class _Machine(NamedTuple):
    audit: int
    allowed: str
    clone: int
    clone3: int
    prctl: int
    socketpair: int
    fcntl: int
    flock: int
    ioctl: int


X86_64 = """
read:0 write:1 open:2 openat:257 openat2:437 close:3 stat:4 fstat:5 lstat:6 newfstatat:262 statx:332 poll:7
ppoll:271 select:23 pselect6:270 lseek:8 mmap:9 mprotect:10 munmap:11 mremap:25 msync:26 mincore:27 madvise:28
brk:12 rt_sigaction:13 rt_sigprocmask:14 rt_sigreturn:15 rt_sigpending:127 rt_sigtimedwait:128 rt_sigsuspend:130
sigaltstack:131 pread64:17 pwrite64:18 readv:19 writev:20 preadv:295 pwritev:296 preadv2:327
pwritev2:328 access:21 faccessat:269 faccessat2:439 pipe:22 pipe2:293 dup:32 dup2:33 dup3:292 sched_yield:24
nanosleep:35 clock_nanosleep:230 pause:34 getitimer:36 setitimer:38 alarm:37 getpid:39 getppid:110 gettid:186
getuid:102 geteuid:107 getgid:104 getegid:108 getgroups:115 getresuid:118 getresgid:120 getpgrp:111 getpgid:121
getsid:124 setgroups:116 setresgid:119 setresuid:117 exit:60 exit_group:231 wait4:61 waitid:247 kill:62
tkill:200 tgkill:234 uname:63 fsync:74 fdatasync:75 sync_file_range:277 truncate:76
ftruncate:77 fallocate:285 fadvise64:221 getdents:78 getdents64:217 getcwd:79 chdir:80 fchdir:81 rename:82
renameat:264 renameat2:316 mkdir:83 mkdirat:258 rmdir:84 creat:85 link:86 linkat:265 unlink:87 unlinkat:263
symlink:88 symlinkat:266 readlink:89 readlinkat:267 chmod:90 fchmod:91 fchmodat:268 umask:95 utime:132
utimes:235 utimensat:280 futimesat:261 getxattr:191 lgetxattr:192 fgetxattr:193 listxattr:194 llistxattr:195
flistxattr:196 gettimeofday:96 time:201 getrlimit:97 setrlimit:160 prlimit64:302 getrusage:98 sysinfo:99
times:100 capget:125 statfs:137 fstatfs:138 sched_getparam:143 sched_getscheduler:145 sched_get_priority_max:146
sched_get_priority_min:147 sched_getaffinity:204 sched_setaffinity:203 sched_rr_get_interval:148 getpriority:140
getcpu:309 arch_prctl:158 futex:202 futex_waitv:449 set_tid_address:218 set_robust_list:273 get_robust_list:274
clock_gettime:228 clock_getres:229 epoll_create:213 epoll_create1:291 epoll_ctl:233 epoll_wait:232
epoll_pwait:281 eventfd:284 eventfd2:290 getrandom:318 membarrier:324 rseq:334 copy_file_range:326 sendfile:40
close_range:436 execve:59 restart_syscall:219 sendto:44 recvfrom:45 recvmsg:47 shutdown:48
getsockopt:55 setsockopt:54 getsockname:51 getpeername:52
"""
AARCH64 = """
read:63 write:64 openat:56 openat2:437 close:57 fstat:80 newfstatat:79 statx:291 ppoll:73 pselect6:72 lseek:62
mmap:222 mprotect:226 munmap:215 mremap:216 msync:227 mincore:232 madvise:233 brk:214 rt_sigaction:134
rt_sigprocmask:135 rt_sigreturn:139 rt_sigpending:136 rt_sigtimedwait:137 rt_sigsuspend:133 sigaltstack:132
pread64:67 pwrite64:68 readv:65 writev:66 preadv:69 pwritev:70 preadv2:286 pwritev2:287 faccessat:48
faccessat2:439 pipe2:59 dup:23 dup3:24 sched_yield:124 nanosleep:101 clock_nanosleep:115 getitimer:102
setitimer:103 getpid:172 getppid:173 gettid:178 getuid:174 geteuid:175 getgid:176 getegid:177 getgroups:158
getresuid:148 getresgid:150 getpgid:155 getsid:156 setgroups:159 setresgid:149 setresuid:147 exit:93
exit_group:94 wait4:260 waitid:95 kill:129 tkill:130 tgkill:131 uname:160 fsync:82
fdatasync:83 sync_file_range:84 truncate:45 ftruncate:46 fallocate:47 fadvise64:223 getdents64:61 getcwd:17
chdir:49 fchdir:50 renameat:38 renameat2:276 mkdirat:34 linkat:37 unlinkat:35 symlinkat:36 readlinkat:78
fchmod:52 fchmodat:53 umask:166 utimensat:88 getxattr:8 lgetxattr:9 fgetxattr:10 listxattr:11 llistxattr:12
flistxattr:13 gettimeofday:169 getrlimit:163 setrlimit:164 prlimit64:261 getrusage:165 sysinfo:179 times:153
capget:90 statfs:43 fstatfs:44 sched_getparam:121 sched_getscheduler:120 sched_get_priority_max:125
sched_get_priority_min:126 sched_getaffinity:123 sched_setaffinity:122 sched_rr_get_interval:127 getpriority:141
getcpu:168 futex:98 futex_waitv:449 set_tid_address:96 set_robust_list:99 get_robust_list:100 clock_gettime:113
clock_getres:114 epoll_create1:20 epoll_ctl:21 epoll_pwait:22 eventfd2:19 getrandom:278 membarrier:283 rseq:293
copy_file_range:285 sendfile:71 close_range:436 execve:221 restart_syscall:128 sendto:206 recvfrom:207
recvmsg:212 shutdown:210 getsockopt:209 setsockopt:208 getsockname:204 getpeername:205
"""
MACHINES = {
    "x86_64": _Machine(0xC000003E, X86_64, 56, 435, 157, 53, fcntl=72, flock=73, ioctl=16),
    "aarch64": _Machine(0xC00000B7, AARCH64, 220, 435, 167, 199, fcntl=25, flock=32, ioctl=29),
}
THREAD = 0x10000
NAMESPACES = 0x7E020000 | 0x80
"""Flags of clone for new namespaces: mount, cgroup, uts, ipc, user, pid, net; and time."""
PRCTL = (3, 15, 16, 23, 39)
"""Get dumpable, set and get the thread's name, read the bounding set, get no_new_privs."""
FCNTL = (0, 1, 2, 3, 5, 9, 11, 1030, 1032)
"""Duplicate, also with close-on-exec; get and set the descriptor's flags; get the file's flags, a conflicting lock, the
owner, its signal, a pipe's size.
"""
SET_FLAGS = 4
ASYNC = 0x2000
SET_LOCK = (6, 7)
IOCTL = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Terminal attributes, group and size; readable bytes; non-blocking mode and close-on-exec."""
UNIX = 1
X32 = 0x40000000

LOAD = 0x20
EQUAL = 0x15
AT_LEAST = 0x35
ANY_BIT = 0x45
RETURN = 0x06
ALLOW = 0x7FFF0000
PRETEND = 0x00050000
"""The call is skipped, and returns 0."""
REFUSE = 0x00050000 | 1
NO_TERMINAL = 0x00050000 | 25
MISSING = 0x00050000 | 38
KILL = 0x80000000
NUMBER = 0
ARCHITECTURE = 4
ARGUMENTS = (16, 24, 32)
"""Offsets in the kernel's `struct seccomp_data`; of the arguments, the low halves (both machines are little endian)."""


def filter_program(machine: str | None = None, *, forks: bool = False) -> bytes:
    """Compile the filter to bytes for `bwrap --seccomp`.

    Args:
        machine: as named by `platform.machine()`; by default this machine.
        forks: allow clone without a thread, in the same namespaces; RLIMIT_NPROC limits the number.

    Raises:
        InputError: there is no table of system calls for the machine.
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise InputError(
            f"the CPython sandbox knows the system calls of {sorted(MACHINES)}, not of {machine!r}; "
            "use handaxe.tools.python, which needs no filter"
        )
    table = MACHINES[machine]
    code = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, table.audit), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    # x32 calls have the same architecture with this bit set, which would bypass the list.
    code += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL)]
    for entry in table.allowed.split():
        code += [(EQUAL, 0, 1, int(entry.partition(":")[2])), (RETURN, 0, 0, ALLOW)]
    for number in (table.clone3, table.flock):
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, MISSING)]
    only_threads = [] if forks else [(ANY_BIT, 1, 0, THREAD), (RETURN, 0, 0, REFUSE)]
    code += _when(table.clone, [*only_threads, (ANY_BIT, 0, 1, NAMESPACES), (RETURN, 0, 0, REFUSE)], otherwise=ALLOW)
    code += _when(table.prctl, _each(PRCTL, ALLOW), otherwise=REFUSE)
    code += _when(table.socketpair, _each((UNIX,), ALLOW), otherwise=REFUSE)
    flags = [(LOAD, 0, 0, ARGUMENTS[2]), (ANY_BIT, 0, 1, ASYNC), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    commands = [*_each(FCNTL, ALLOW), *_each(SET_LOCK, PRETEND), (EQUAL, 0, len(flags), SET_FLAGS), *flags]
    code += _when(table.fcntl, commands, otherwise=REFUSE, argument=1)
    code += _when(table.ioctl, _each(IOCTL, ALLOW), otherwise=NO_TERMINAL, argument=1)
    code += [(RETURN, 0, 0, REFUSE)]
    return b"".join(struct.pack("=HBBI", *step) for step in code)


_Step = tuple[int, int, int, int]


def _when(number: int, steps: list[_Step], *, otherwise: int, argument: int = 0) -> list[_Step]:
    """Filter the call `number` by an argument; no match ends in `otherwise`."""
    body = [(LOAD, 0, 0, ARGUMENTS[argument]), *steps, (RETURN, 0, 0, otherwise)]
    return [(EQUAL, 0, len(body), number), *body]


def _each(values: Sequence[int], end: int) -> list[_Step]:
    """End in `end` if the argument is one of the values."""
    return [step for value in values for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, end))]
