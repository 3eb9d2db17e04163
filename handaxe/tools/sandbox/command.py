"""Command line of bubblewrap for a session."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import Mounts

__all__ = ["FOLDER", "SandboxSpec", "bubblewrap_command", "find_bubblewrap", "host_user_id"]

WORKER = Path(__file__).with_name("worker.py")
FOLDER = "/session"
"""Private folder, the working directory of the code."""
INSTALL = "install it (Debian, Ubuntu: apt-get install bubblewrap), or use handaxe.tools.python, which does not need it"
DEVICES = ("null", "zero", "full", "random", "urandom")
NO_OTHERS = 65534
ENVIRONMENT = {
    "HOME": FOLDER,
    "TMPDIR": FOLDER,
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONHASHSEED": "0",
    # One thread each, and one arena: more would use up the session's threads and address space.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}


class SandboxSpec(NamedTuple):
    """Settings of a sandbox; sessions of equal settings are interchangeable before their first call.

    forks: the code may have one child process at a time, with the same limits; the child cannot fork.
    """

    layout: Mounts
    limits: Limits
    preload: tuple[str, ...] = ()
    forks: bool = False


def find_bubblewrap() -> str:
    """Find the path of `bwrap`. Raises InputError with the package to install."""
    found = shutil.which("bwrap")
    if found is None:
        raise InputError(f"the CPython sandbox needs bubblewrap (bwrap), which is not installed: {INSTALL}")
    return os.path.realpath(found)


def host_user_id(uid_map: str | None = None, user: int | None = None) -> int | None:
    """Return the host's user id of the code in the sandbox; None for the present user.

    Root runs the code as the user nobody, because the kernel exempts root from the limit on processes, and because
    root's files are then inaccessible even if mounted by mistake. Root of a namespace with a single user stays root.

    Args:
        uid_map: as in /proc/self/uid_map, the default.
        user: effective user, by default this process's.
    """
    if (os.geteuid() if user is None else user) != 0:
        return None
    text = Path("/proc/self/uid_map").read_text() if uid_map is None else uid_map
    ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in text.splitlines())]
    if any(first <= NO_OTHERS < first + count for first, count in ranges):
        return NO_OTHERS
    highest = max(first + count - 1 for first, count in ranges)
    return highest if highest > 0 else None


def bubblewrap_command(spec: SandboxSpec, *, bubblewrap: str, descriptors: dict[str, int], as_root: bool) -> list[str]:
    """Build the command as a list of words.

    The order of mounts matters: later mounts cover earlier ones, and the root becomes read-only last.

    Args:
        spec: mounts and limits.
        bubblewrap: path of the program.
        descriptors: of "info", "seccomp" and, as root, "block": bubblewrap writes its child's id to the first, reads
            the filter from the second, and waits for the user mapping on the third.
        as_root: the worker starts as root of its namespace and switches to the user nobody by itself.
    """
    words = [bubblewrap, "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    words += [f"--unshare-{kind}" for kind in ("user", "ipc", "pid", "net", "uts", "cgroup")]
    words += ["--cap-drop", "ALL", "--info-fd", str(descriptors["info"]), "--seccomp", str(descriptors["seccomp"])]
    if as_root:
        words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--uid", "0", "--gid", "0"]
        words += ["--userns-block-fd", str(descriptors["block"])]
    else:
        words += ["--uid", str(NO_OTHERS), "--gid", str(NO_OTHERS)]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += _mounts(spec.layout)
    words += ["--proc", "/proc", "--remount-ro", "/proc"]
    words += ["--perms", "1777", "--size", str(spec.limits.disk), "--tmpfs", FOLDER, "--chdir", FOLDER]
    words += ["--remount-ro", "/"]
    limits = spec.limits._asdict()
    settings = {**limits, "preload": spec.preload, "packages": spec.layout.packages, "children": int(spec.forks)}
    return [*words, "--", spec.layout.executable, "-s", "-S", "-B", "/worker.py", json.dumps(settings)]


def _mounts(layout: Mounts) -> list[str]:
    mounts = [*layout.mounts, (str(WORKER), "/worker.py")]
    words: list[str] = []
    # Intermediate folders are created explicitly, because implicit ones are closed to other users.
    places = [place for _, place in mounts] + [f"/dev/{DEVICES[0]}", f"{layout.packages}/x"]
    for folder in sorted({str(above) for place in places for above in PurePosixPath(place).parents if above.name}):
        words += ["--dir", folder]
    for target, path in layout.links:
        words += ["--symlink", target, path]
    for source, target in mounts:
        words += ["--ro-bind", source, target]
    for name in DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for folder in layout.covered:
        words += ["--tmpfs", folder, "--remount-ro", folder]
    return words
