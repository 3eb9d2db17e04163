"""Starts one sandboxed worker."""

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
from handaxe.tools.sandbox.command import FOLDER, Spec, command, find_bubblewrap, outside_id
from handaxe.tools.sandbox.process import Worker
from handaxe.tools.sandbox.seccomp import filter_program

__all__ = ["SETUP", "greet", "launch"]

SETUP = 20.0
"""Seconds that bubblewrap has to make its namespaces."""
READY = b"ready"
LOOK = 0.2
"""Seconds between two looks at whether a worker that is waited for still lives."""


def launch(spec: Spec) -> Worker:
    """Start a worker without waiting until it is ready.

    Call it from a thread that lives as long as the worker shall: the kernel ends the sandbox with the thread that
    started it. That is wanted when this process dies, and a trap otherwise.

    Raises:
        InfrastructureError: bubblewrap could not make the sandbox; with what it said.
        InputError: it is not installed, or this kind of processor is not known.
    """
    user = outside_id()
    bubblewrap, rules = find_bubblewrap(), filter_program()
    ours, theirs = socket.socketpair()
    told, info = os.pipe()
    output, printed = os.pipe()
    block, release = os.pipe()
    program, feed = os.pipe()
    given = [info, printed, block, program]
    try:
        os.write(feed, rules)
        os.close(feed)
        words = command(
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
        for descriptor in (output, *given, told, release):
            os.close(descriptor)
        raise
    theirs.close()
    for descriptor in given:
        os.close(descriptor)
    group = None
    try:
        group = _child(told)
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
        said = _rest(output)
        os.close(output)
        raise InfrastructureError(f"bubblewrap made no sandbox: {said or error}") from error
    finally:
        os.close(told)
        os.close(release)
    return Worker(process, group, ours, output, spec.limits)


def greet(worker: Worker, *, seconds: float) -> None:
    """Wait until a worker is ready, and take over its private folder.

    Raises:
        InfrastructureError: it died instead, or took longer; it is destroyed then.
    """
    deadline, data = time.monotonic() + seconds, b""
    try:
        while data != READY:
            # A bubblewrap that is killed as it begins leaves the other end open.
            if worker.process.poll() is not None or time.monotonic() > deadline:
                raise OSError("it died, or took too long")
            if not select.select([worker.socket], [], [], LOOK)[0]:
                continue
            piece = worker.socket.recv(len(READY) - len(data))
            data += piece
            if not piece or not READY.startswith(data):
                raise OSError("it died before it was ready")
        # Not handed over by the worker: descriptors on their way are counted for all processes of its user together.
        inside = f"/proc/{worker.group}/root{FOLDER}"
        worker.folder = os.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if worker.process.poll() is not None:
            raise OSError("it died when it was ready")  # and the number may be another process's
    except OSError as error:
        said = _rest(worker.output)
        worker.destroy()
        raise InfrastructureError(f"the sandboxed Python did not start: {said or error}") from error


def _child(told: int) -> int:
    """The number of the sandbox's first process, as bubblewrap reports it."""
    text, deadline = b"", time.monotonic() + SETUP
    while b"}" not in text:
        ready, _, _ = select.select([told], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(told, 4096) if ready else b""
        if not piece:
            raise OSError("it ended, or was silent for too long")
        text += piece
    return int(json.loads(text)["child-pid"])


def _rest(output: int) -> str:
    """What was printed before a death: the last lines."""
    os.set_blocking(output, False)
    data = b""
    with suppress(OSError):
        while len(data) < 2**16 and (piece := os.read(output, 2**16)):
            data += piece
    return data.decode(errors="replace").strip()[-2000:]
