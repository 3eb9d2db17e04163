"""What a person gets who installs the wheel, and has neither this folder nor make."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("handaxe", "pyproject.toml", "README.md", "LICENSE")
TRAIN = "train grpo --world arithmetic --steps 1 --groups 2 --group-size 2 --held-out 2 --out run"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that nothing is written into this folder, by the setuptools that is here."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder / "made"]
    run(sys.executable, "-m", "pip", *words, folder, cwd=folder)
    (found,) = (folder / "made").glob("handaxe-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The command `handaxe` of a new virtual environment with this wheel; what it depends on is lent by this one, since
    another torch would take minutes. A folder named in a .pth file is not searched for further .pth files, so handaxe
    is not found there where it is installed to be edited."""
    place = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", place)
    python = place / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin" / "handaxe"


def run(*words, cwd=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env={**environment, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    here = {path.relative_to(ROOT).as_posix() for path in (ROOT / "handaxe").rglob("*") if path.is_file()}
    of_the_repository = re.compile(r"__pycache__|handaxe/(baselines|papers)/\w+/(README\.md|result\w*\.json)$")
    assert names == {name for name in here if not of_the_repository.search(name)}
    assert {"handaxe/py.typed", "handaxe/credit/__init__.pyi", "handaxe/models/tiny_checkpoint/config.json"} <= names


@pytest.mark.slow
def test_from_an_empty_folder_it_trains(installed, tmp_path):
    where = run(installed.with_name("python"), "-c", "import handaxe; print(handaxe.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parents[1]), "this is not the one that was installed"
    assert "--learning-rate FLOAT" in run(installed, "quickstart", "--help", cwd=tmp_path)
    assert "2 held-out tasks" in run(installed, *TRAIN.split(), cwd=tmp_path)
