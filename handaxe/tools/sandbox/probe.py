"""Finds out, by one real run, whether the sandbox can work on this machine."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

from handaxe.core.errors import HandaxeError, InputError
from handaxe.tools.sandbox.command import INSTALL, Spec, find_bubblewrap
from handaxe.tools.sandbox.layout import layout_of
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.start import greet, launch

__all__ = ["probe"]

LIMITS = Limits(seconds=20.0, threads=2, disk=2**16)
PROGRAM = """
import os, resource, threading, _socket
def refused(act):
    try:
        act()
    except (OSError, RuntimeError):
        return True
    return False
def threads():
    gate = threading.Event()
    try:
        for _ in range(8):
            threading.Thread(target=gate.wait, daemon=True).start()
    finally:
        gate.set()
[name for name, holds in {
    "new processes": refused(os.fork),
    "threads": refused(threads),
    "sockets": refused(_socket.socket),
    "files outside": refused(lambda: os.listdir("/home")) and refused(lambda: open("/etc/passwd")),
    "writing": refused(lambda: open("/written", "w")) and refused(lambda: open("/dev/written", "w")),
    "a full disk": refused(lambda: os.posix_fallocate(os.open("big", os.O_CREAT | os.O_WRONLY), 0, 2**17)),
    "privileges": "CapEff:\\t0000000000000000" in open("/proc/self/status").read(),
    "root": os.getuid() != 0,
}.items() if not holds]
"""


@functools.cache
def probe(interpreter: str | None = None) -> None:
    """Make one sandbox with that interpreter and try what it must refuse. The answer is remembered.

    Raises:
        InputError: it cannot be made, or does not hold; with the reason and what to do about it.
    """
    find_bubblewrap()
    failed: list[str] = []

    def work() -> None:
        # In a thread, which ends the sandbox with it, whatever happens.
        try:
            failed.extend(_try(interpreter))
        except HandaxeError as error:
            failed.append(str(error))

    thread = threading.Thread(target=work, name="handaxe-probe")
    thread.start()
    thread.join()
    if failed:
        raise InputError(f"the CPython sandbox cannot run here: {'; '.join(failed)}. {_advice()}")


def _try(interpreter: str | None) -> list[str]:
    worker = launch(Spec(layout_of(interpreter, ()), LIMITS))
    try:
        greet(worker, seconds=60.0)
        answer = worker.ask({"op": "run", "code": PROGRAM}, seconds=LIMITS.seconds)
    finally:
        worker.destroy()
    return [] if answer.text == "[]" else [f"it does not refuse {answer.text or answer.stop}"]


def _advice() -> str:
    """What stands in the way of namespaces, as far as the kernel says."""
    switches = {
        "user/max_user_namespaces": "0",
        "kernel/unprivileged_userns_clone": "0",
        "kernel/apparmor_restrict_unprivileged_userns": "1",
    }
    for switch, bad in switches.items():
        path = Path("/proc/sys", switch)
        if path.exists() and path.read_text().strip() == bad:
            name = switch.replace("/", ".")
            return f"User namespaces are refused: {name} is {bad}; an administrator may run `sysctl -w {name}=...`"
    return (
        "If user namespaces are refused, allow them (in a container: its security profile; else: sysctl "
        f"user.max_user_namespaces). If bubblewrap is missing, {INSTALL}"
    )
