"""Start of a sandboxed worker."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.command import FOLDER, SandboxSpec, bubblewrap_command, find_bubblewrap, host_user_id
from handaxe.tools.sandbox.process import Worker
from handaxe.tools.sandbox.seccomp import filter_program

__all__ = ["SETUP", "await_ready", "launch"]

SETUP = 20.0
"""Seconds for bubblewrap to make its namespaces."""
READY = b"ready"
POLL_SECONDS = 0.2
"""Seconds between checks of a starting worker."""


def launch(spec: SandboxSpec) -> Worker:
    """Start a worker without waiting until it is ready.

    Call it from a thread that lives as long as the worker: the kernel ends the sandbox with the thread that started it.
    This is intended for the death of this process, and a trap for short-lived threads.

    Raises:
        InfrastructureError: bubblewrap could not make the sandbox; with its output.
        InputError: bubblewrap is not installed, or the processor is unsupported.
    """
    user = host_user_id()
    bubblewrap, rules = find_bubblewrap(), filter_program(forks=spec.forks)
    ours, theirs = socket.socketpair()
    info_read, info = os.pipe()
    output, printed = os.pipe()
    block, release = os.pipe()
    program, feed = os.pipe()
    child_ends = [info, printed, block, program]
    try:
        os.write(feed, rules)
        os.close(feed)
        words = bubblewrap_command(
            spec,
            bubblewrap=bubblewrap,
            descriptors={"info": info, "seccomp": program, "block": block},
            as_root=user is not None,
        )
        process = subprocess.Popen(
            words,
            stdin=theirs.fileno(),
            stdout=printed,
            stderr=printed,
            pass_fds=(info, block, program),
            cwd="/",
            env={},
        )
    except BaseException:
        ours.close()
        theirs.close()
        for descriptor in (output, *child_ends, info_read, release):
            os.close(descriptor)
        raise
    theirs.close()
    for descriptor in child_ends:
        os.close(descriptor)
    group = None
    try:
        group = _child(info_read)
        if user is not None:
            for kind in ("uid_map", "gid_map"):
                Path(f"/proc/{group}/{kind}").write_text(f"0 0 1\n1 {user} 1\n")
            os.write(release, b"1")
    except (OSError, ValueError, KeyError) as error:
        if group is not None and process.poll() is None:
            os.kill(group, signal.SIGKILL)
        process.kill()
        process.wait()
        ours.close()
        printed_text = _rest(output)
        os.close(output)
        raise InfrastructureError(f"bubblewrap made no sandbox: {printed_text or error}") from error
    finally:
        os.close(info_read)
        os.close(release)
    return Worker(process, group, ours, output, spec.limits)


def await_ready(worker: Worker, *, seconds: float) -> None:
    """Wait until a worker is ready, and open its private folder.

    Raises:
        InfrastructureError: the worker died or took too long; it is then destroyed.
    """
    deadline, data = time.monotonic() + seconds, b""
    try:
        while data != READY:
            # A bubblewrap that is killed during its start leaves the other end open.
            if worker.process.poll() is not None or time.monotonic() > deadline:
                raise OSError("it died, or took too long")
            if not select.select([worker.socket], [], [], POLL_SECONDS)[0]:
                continue
            piece = worker.socket.recv(len(READY) - len(data))
            data += piece
            if not piece or not READY.startswith(data):
                raise OSError("it died before it was ready")
        # Not sent by the worker: descriptors in transit are counted for all processes of its user together.
        inside = f"/proc/{worker.group}/root{FOLDER}"
        worker.folder = os.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if worker.process.poll() is not None:
            raise OSError("it died when it was ready")  # and its id may belong to another process
    except OSError as error:
        printed_text = _rest(worker.output)
        worker.destroy()
        raise InfrastructureError(f"the sandboxed Python did not start: {printed_text or error}") from error


def _child(info_read: int) -> int:
    """Read the id of the sandbox's first process from bubblewrap."""
    text, deadline = b"", time.monotonic() + SETUP
    while b"}" not in text:
        ready, _, _ = select.select([info_read], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(info_read, 4096) if ready else b""
        if not piece:
            raise OSError("it ended, or was silent for too long")
        text += piece
    return int(json.loads(text)["child-pid"])


def _rest(output: int) -> str:
    """Read the last lines printed before a death."""
    os.set_blocking(output, False)
    data = b""
    with suppress(OSError):
        while len(data) < 2**16 and (piece := os.read(output, 2**16)):
            data += piece
    return data.decode(errors="replace").strip()[-2000:]
