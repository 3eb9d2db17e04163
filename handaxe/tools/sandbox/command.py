"""The command line of bubblewrap for one session."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.layout import Mounted
from handaxe.tools.sandbox.limits import Limits

__all__ = ["FOLDER", "Spec", "command", "find_bubblewrap", "outside_id"]

WORKER = Path(__file__).with_name("worker.py")
FOLDER = "/session"
"""The private folder, where code starts."""
INSTALL = "install it (Debian, Ubuntu: apt-get install bubblewrap), or use handaxe.tools.python, which needs none of it"
DEVICES = ("null", "zero", "full", "random", "urandom")
NO_OTHERS = 65534
ENVIRONMENT = {
    "HOME": FOLDER,
    "TMPDIR": FOLDER,
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONHASHSEED": "0",
    # One thread each, and one arena: threads and their arenas would eat the session's threads and address space.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}


class Spec(NamedTuple):
    """What makes two sessions interchangeable before their first call."""

    layout: Mounted
    limits: Limits
    preload: tuple[str, ...] = ()


def find_bubblewrap() -> str:
    """The path of `bwrap`. Raises InputError, saying what to install."""
    found = shutil.which("bwrap")
    if found is None:
        raise InputError(f"the CPython sandbox needs bubblewrap (bwrap), which is not here: {INSTALL}")
    return os.path.realpath(found)


def outside_id(uid_map: str | None = None, user: int | None = None) -> int | None:
    """The user of the host that code in the sandbox counts as, or None: the one who runs this.

    Root hands the code to the user nobody, because the kernel exempts root from the limit on processes, and because
    root's files are then out of reach even where something of them were mounted by mistake. A root that is no root of
    the machine (a namespace with a single user) stays itself.

    Args:
        uid_map: as in /proc/self/uid_map, the default.
        user: the effective user, by default this process's.
    """
    if (os.geteuid() if user is None else user) != 0:
        return None
    text = Path("/proc/self/uid_map").read_text() if uid_map is None else uid_map
    ranges = [(int(first), int(count)) for first, _, count in (line.split() for line in text.splitlines())]
    if any(first <= NO_OTHERS < first + count for first, count in ranges):
        return NO_OTHERS
    highest = max(first + count - 1 for first, count in ranges)
    return highest if highest > 0 else None


def command(spec: Spec, *, bubblewrap: str, descriptors: dict[str, int], as_root: bool) -> list[str]:
    """All words of the command.

    The order of mounts matters: later ones lie above earlier ones, and the root becomes read-only last.

    Args:
        spec: what is mounted and allowed.
        bubblewrap: its path.
        descriptors: of "info", "seccomp" and, as root, "block": where bubblewrap tells its child's number, reads the
            filter, and waits until the mapping of users is written.
        as_root: the worker starts as root of its namespace and becomes the user nobody by itself.
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
    settings = {**limits, "preload": spec.preload, "packages": spec.layout.packages}
    return [*words, "--", spec.layout.executable, "-s", "-S", "-B", "/worker.py", json.dumps(settings)]


def _mounts(layout: Mounted) -> list[str]:
    mounts = [*layout.mounts, (str(WORKER), "/worker.py")]
    words: list[str] = []
    # Folders on the way would otherwise be closed to all but their owner.
    places = [place for _, place in mounts] + [f"/dev/{DEVICES[0]}", f"{layout.packages}/x"]
    for folder in sorted({str(above) for place in places for above in PurePosixPath(place).parents if above.name}):
        words += ["--dir", folder]
    for target, path in layout.links:
        words += ["--symlink", target, path]
    for here, there in mounts:
        words += ["--ro-bind", here, there]
    for name in DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for folder in layout.covered:
        words += ["--tmpfs", folder, "--remount-ro", folder]
    return words
