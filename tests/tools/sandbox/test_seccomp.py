import struct

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.seccomp import MACHINES, filter_program

ALLOW = 0x7FFF0000
REFUSE = 0x00050001
MISSING = 0x00050026
KILL = 0x80000000
PRETEND, NO_TERMINAL = 0x00050000, 0x00050019
X86 = 0xC000003E
ARM = 0xC00000B7


def decide(program, number, *, audit, argument=0, second=0, third=0):
    """Interpret the filter for a call, as the kernel does."""
    steps = [struct.unpack_from("=HBBI", program, place) for place in range(0, len(program), 8)]
    data = {0: number, 4: audit, 16: argument & 0xFFFFFFFF, 24: second, 32: third}
    place, value = 0, 0
    while True:
        code, true, false, k = steps[place]
        place += 1
        if code == 0x20:
            value = data[k]
        elif code == 0x06:
            return k
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            place += true if holds else false


@pytest.mark.parametrize(
    ("number", "argument", "outcome"),
    [
        (0, 0, ALLOW),  # read
        (257, 0, ALLOW),  # openat
        (59, 0, ALLOW),  # execve
        (56, 0x3D0F00, ALLOW),  # clone as libc makes a thread
        (56, 17, REFUSE),  # clone as fork does
        (56, 0x10000 | 0x10000000, REFUSE),  # a thread in a new user namespace
        (57, 0, REFUSE),  # fork
        (58, 0, REFUSE),  # vfork
        (435, 0, MISSING),  # clone3
        (41, 2, REFUSE),  # socket
        (53, 1, ALLOW),  # socketpair of unix sockets
        (53, 30, REFUSE),  # socketpair of TIPC
        (101, 0, REFUSE),  # ptrace
        (165, 0, REFUSE),  # mount
        (272, 0, REFUSE),  # unshare
        (112, 0, REFUSE),  # setsid
        (157, 15, ALLOW),  # prctl: name of a thread
        (157, 1, REFUSE),  # prctl: live on without the parent
        (425, 0, REFUSE),  # io_uring_setup
        (9999, 0, REFUSE),  # not invented yet
        (0x40000000, 0, KILL),  # x32
    ],
)
def test_x86_64_filter_decides(number, argument, outcome):
    assert decide(filter_program("x86_64"), number, audit=X86, argument=argument) == outcome


@pytest.mark.parametrize(
    ("number", "argument", "outcome"),
    [(63, 0, ALLOW), (220, 0x3D0F00, ALLOW), (220, 17, REFUSE), (198, 2, REFUSE), (117, 0, REFUSE), (435, 0, MISSING)],
)
def test_aarch64_filter_decides(number, argument, outcome):
    assert decide(filter_program("aarch64"), number, audit=ARM, argument=argument) == outcome


@pytest.mark.parametrize(("machine", "clone", "audit"), [("x86_64", 56, X86), ("aarch64", 220, ARM)])
def test_filter_with_forks_allows_a_child_and_no_namespace(machine, clone, audit):
    program = filter_program(machine, forks=True)
    said = [decide(program, clone, audit=audit, argument=one) for one in (17, 0x3D0F00, 17 | 0x10000000, 17 | 0x80)]
    assert said == [ALLOW, ALLOW, REFUSE, REFUSE]
    plain = filter_program(machine)
    assert all(
        decide(program, number, audit=audit) == decide(plain, number, audit=audit)
        for number in range(500)
        if number != clone
    )


SET_OWNER = 8
SET_SIGNAL = 10
NOTIFY = 1026
PIPE_SIZE = 1031


@pytest.mark.parametrize(
    ("fcntl", "flock", "ioctl", "sendmsg", "audit"), [(72, 73, 16, 46, X86), (25, 32, 29, 211, ARM)], ids=["x86", "arm"]
)
def test_calls_with_outside_effects_are_refused(fcntl, flock, ioctl, sendmsg, audit):
    program = filter_program("x86_64" if audit == X86 else "aarch64")
    said = {
        command: decide(program, fcntl, audit=audit, second=command) for command in (0, 3, 5, 6, 7, 1030, 37, PIPE_SIZE)
    }
    assert said == {0: ALLOW, 3: ALLOW, 5: ALLOW, 6: PRETEND, 7: PRETEND, 1030: ALLOW, 37: REFUSE, PIPE_SIZE: REFUSE}
    assert {decide(program, fcntl, audit=audit, second=c) for c in (SET_OWNER, SET_SIGNAL, NOTIFY, 15, 1024)} == {
        REFUSE
    }
    assert decide(program, fcntl, audit=audit, second=4, third=0x800) == ALLOW
    assert decide(program, fcntl, audit=audit, second=4, third=0x2800) == REFUSE
    assert decide(program, ioctl, audit=audit, second=0x5401) == ALLOW
    assert {decide(program, ioctl, audit=audit, second=c) for c in (0x5452, 0x8901, 0x5412)} == {NO_TERMINAL}
    assert decide(program, flock, audit=audit) == MISSING and decide(program, sendmsg, audit=audit) == REFUSE


def test_other_architecture_is_killed_or_raises():
    assert decide(filter_program("x86_64"), 0, audit=0x40000003) == KILL
    with pytest.raises(InputError, match="riscv64"):
        filter_program("riscv64")


def test_tables_have_no_duplicates():
    for machine in MACHINES.values():
        names, numbers = zip(*(entry.split(":") for entry in machine.allowed.split()))
        assert len(set(names)) == len(names) and len(set(numbers)) == len(numbers)
        assert not {"fork", "vfork", "clone", "socket", "ptrace", "mount", "unshare", "setns", "sendmsg"} & set(names)


def test_filter_fits_a_pipe():
    """The program is handed over through a pipe that nobody reads yet."""
    assert len(filter_program("x86_64")) < 4096 * 8 and len(filter_program("x86_64")) % 8 == 0
