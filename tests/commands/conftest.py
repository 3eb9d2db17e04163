import shutil
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.models.tiny import TinyConfig, TinyModel

SMALL = ("--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "4", "--max-tokens", "8")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0).save(folder)
    return folder


@pytest.fixture(scope="session")
def finished(small_model, tmp_path_factory) -> Path:
    """A run of two steps with its result.json; do not change it."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    words = ["train", "otc", "--smooth", "2", "--model", str(small_model), *SMALL, "--out", str(folder), "--quiet"]
    assert main([*words, "--json", str(folder.parent / "result.json")]) == 0
    return folder


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy of that run, to do with as one likes."""
    return Path(shutil.copytree(finished, tmp_path / "run"))
