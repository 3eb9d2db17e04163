"""The page of bias and variance: every credit is on it, and a stale one is told."""

import pytest

from handaxe.commands import bias
from handaxe.core.errors import InputError
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.bias import Case, measure
from handaxe.evaluation.bias_cases import CASES

FEW = (
    Case("turn_norm", 'turn_norm(norm="index", std=None)', lambda: (turn_norm(norm="index", std=None), None)),
    Case("return_to_go", "return_to_go()", lambda: (return_to_go(), None)),
    Case("leave_one_out", "leave_one_out()", lambda: (leave_one_out(), None), forks=True),
)


def test_every_credit_is_measured_or_left_out_with_a_reason(monkeypatch):
    assert set(bias._not_measured().values()) and all(case.said for case in CASES)
    monkeypatch.setattr(bias, "CASES", [case for case in CASES if case.credit != "turn_gae"])
    with pytest.raises(InputError, match="measures turn_gae nowhere"):
        bias._not_measured()


def test_a_stale_page_is_told_and_a_fresh_one_is_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bias, "CASES", FEW)
    monkeypatch.setattr(bias, "_not_measured", lambda: {"shaped": "of its parts"})
    monkeypatch.setattr(bias, "SIZE", 2)
    monkeypatch.setattr(bias, "PARTS", ((0.0,), (1.0, 5.0), (2, 3)))
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    where = ["--root", str(tmp_path)]
    with pytest.raises(Exception, match="stale"):
        bias.main(["--check", *where])
    assert bias.main([*where, "--no-plots"]) == 0 and not (tmp_path / "docs" / "credit.png").exists()
    assert bias.main(where) == 0 and bias.main(["--check", *where]) == 0
    assert (tmp_path / "docs" / "credit.png").read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "docs" / "bias.md"
    text = page.read_text()
    assert "Credits of turns without bias: `return_to_go()`" in text and "| `leave_one_out()` | no |" in text
    assert "| 0 | 5 | 33.7 | 1.414 |" in text and "| 0 | 1 | 0.0 | 1.414 |" in text
    for wrong in (
        text.replace("| 33.7 |", "| 33.9 |"),
        text.replace("| yes | 1.000", "| yes | 1.100"),
        text.replace("| no |", "| yes |", 1),
        text + "more\n",
    ):
        page.write_text(wrong)
        with pytest.raises(Exception, match="stale"):
            bias.main(["--check", *where])
    assert [one.case.said for one in measure(FEW, size=2)][0] == "return_to_go()"


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no|not a checkout"):
        bias.main(["--root", str(tmp_path)])
