"""Mounts of a sandboxed Python: its interpreter, shared libraries and the chosen packages."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Mounts", "find_mounts"]

SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
"""Folders of shared libraries and the dynamic loader."""
OPTIONAL = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
COVERED = ("/usr/lib/python3/dist-packages",)
PACKAGES = "/packages"
OLDEST = (3, 10)

# Runs in the given interpreter. Installed requirements of a distribution count, regardless of their markers;
# requirements of extras do not count.
SCRIPT = """
import importlib.metadata as metadata, json, os, re, sys, sysconfig
found, missing, waiting = {}, [], list(sys.argv[1:])
seen = set()
while waiting:
    name = waiting.pop()
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        continue
    seen.add(key)
    try:
        one = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if name in sys.argv[1:]:
            missing.append(name)
        continue
    for path in one.files or ():
        top = path.parts[0]
        if top not in ("..", "__pycache__") and not top.endswith(".pth"):
            found[top] = os.path.realpath(one.locate_file(top))
    for line in one.requires or ():
        if "extra ==" not in line:
            waiting.append(re.match(r"[A-Za-z0-9._-]+", line).group())
print(json.dumps({
    "version": sys.version_info[:2],
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "stdlib": os.path.realpath(sysconfig.get_path("stdlib")),
    "packages": found,
    "missing": missing,
}))
"""


class Mounts(NamedTuple):
    """Read-only mounts of a sandbox.

    executable: of the interpreter, at its own path.
    links: (target, path) of symbolic links, such as /lib to usr/lib.
    mounts: (path on the host, path in the sandbox).
    covered: folders replaced by empty ones: packages that were not requested.
    packages: folder of the packages in the sandbox.
    """

    executable: str
    links: tuple[tuple[str, str], ...]
    mounts: tuple[tuple[str, str], ...]
    covered: tuple[str, ...]
    packages: str = PACKAGES


@functools.cache
def find_mounts(interpreter: str | None, packages: tuple[str, ...]) -> Mounts:
    """Inspect an interpreter; results are cached.

    Args:
        interpreter: path of a CPython; None for the present one. Packages are found through it.
        packages: names of distributions, for example "numpy". Their requirements are included.

    Raises:
        InputError: the interpreter is missing or too old, or a package is not installed for it.
    """
    chosen = interpreter or sys.executable
    facts = _ask(chosen, packages)
    if tuple(facts["version"]) < OLDEST:
        raise InputError(f"{chosen} is Python {facts['version']}; the sandbox needs {OLDEST} or later")
    if facts["missing"]:
        raise InputError(
            f"{facts['missing']} are not installed for {chosen}: pip install 'handaxe[sandbox]', or name other packages"
        )
    system = [path for path in SYSTEM if os.path.isdir(path)]
    links = [(os.readlink(path), path) for path in system if os.path.islink(path)]
    folders = [path for path in system if not os.path.islink(path)] + [p for p in OPTIONAL if os.path.exists(p)]
    library = os.path.dirname(facts["stdlib"])
    if library not in folders:
        folders.append(library)
    own = [os.path.join(facts["stdlib"], name) for name in ("site-packages", "dist-packages")]
    covered = tuple(path for path in (*own, *COVERED) if os.path.isdir(path) and not os.path.islink(path))
    mounts = [(path, path) for path in (*folders, facts["executable"])]
    mounts += [(path, f"{PACKAGES}/{top}") for top, path in sorted(facts["packages"].items()) if os.path.exists(path)]
    return Mounts(facts["executable"], tuple(links), tuple(mounts), covered)


def _ask(interpreter: str, packages: tuple[str, ...]) -> dict:
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", SCRIPT, *packages], capture_output=True, text=True, timeout=60, cwd=Path("/")
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{interpreter!r} is no Python that the sandbox can use: {error}") from error
