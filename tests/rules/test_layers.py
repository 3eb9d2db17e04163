"""A module imports only from lower ranks or its own folder; `.importlinter` draws the ranks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_ranks_are_kept():
    pytest.importorskip("importlinter")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_every_package_has_a_layer():
    ranked = (ROOT / ".importlinter").read_text()
    rooms = [p.stem for p in (ROOT / "handaxe").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    assert not [room for room in rooms if not room.startswith("__") and f"handaxe.{room}" not in ranked]
