"""Check of the sandbox on this machine, by a real run."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

from handaxe.core.errors import HandaxeError, InputError
from handaxe.tools.sandbox.command import INSTALL, SandboxSpec, find_bubblewrap
from handaxe.tools.sandbox.launch import await_ready, launch
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts

__all__ = ["check_sandbox"]

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
def check_sandbox(interpreter: str | None = None) -> None:
    """Start a sandbox with the interpreter and try the forbidden actions. The result is cached.

    Raises:
        InputError: the sandbox cannot start, or permits a forbidden action; the message has the reason and a remedy.
    """
    find_bubblewrap()
    failed: list[str] = []

    def work() -> None:
        # In a thread: the kernel ends the sandbox with the thread.
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
    worker = launch(SandboxSpec(find_mounts(interpreter, ()), LIMITS))
    try:
        await_ready(worker, seconds=60.0)
        answer = worker.ask({"op": "run", "code": PROGRAM}, seconds=LIMITS.seconds)
    finally:
        worker.destroy()
    return [] if answer.text == "[]" else [f"it does not refuse {answer.text or answer.stop}"]


def _advice() -> str:
    """Name the kernel setting against namespaces, if known."""
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
