"""bench/overoptimisation.py: the table of docs/judges.md, and runs that cannot be read."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("overoptimisation", ROOT / "bench" / "overoptimisation.py")
overoptimisation = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(overoptimisation)


def test_a_row_has_the_means_of_the_runs():
    found = {"raw": np.array([[[0.1, 1.0, 0.5], [0.2, 3.0, 0.5]], [[0.3, 2.0, 0.7], [0.2, 4.0, 0.3]]])}
    assert overoptimisation.table(found).splitlines()[2:] == [
        "| 1-10 | 0.200 | 1.500 | 0.600 |",
        "| 11-20 | 0.200 | 3.500 | 0.400 |",
    ]


def test_a_folder_without_a_run_is_one_error(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["overoptimisation", str(tmp_path / "nowhere"), "--out", str(tmp_path / "a.png")])
    assert overoptimisation.main() == 2
    assert "nowhere" in capsys.readouterr().err and not (tmp_path / "a.png").exists()
