"""`handaxe bias`: every credit has a case or a reason, and a stale page is found."""

import pytest

from handaxe.commands import bias
from handaxe.core.errors import InputError
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.gradient_bias import BiasCase

FEW = [
    BiasCase('turn_norm(norm="index", std=None)', lambda: turn_norm(norm="index", std=None)),
    BiasCase("return_to_go()", return_to_go, by_turn=True),
    BiasCase("leave_one_out()", leave_one_out, forks=True),
]


def test_every_credit_has_a_case_or_a_reason(monkeypatch):
    cases, reasons = bias.bias_cases()
    assert len(cases) > 40 and all(reasons.values())
    known = bias.read_test_constant
    monkeypatch.setattr(
        bias, "read_test_constant", lambda module, name: None if "turn_gae" in module else known(module, name)
    )
    with pytest.raises(InputError, match="tests/credit/test_turn_gae.py has no constant BIAS"):
        bias.bias_cases()


def test_a_stale_page_is_found_and_a_written_page_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(bias, "bias_cases", lambda: (FEW, {"transformed": "of its parts"}))
    monkeypatch.setattr(bias, "SIZE", 2)
    monkeypatch.setattr(bias, "DECOMPOSITION", ((0.0,), (1.0, 5.0), (2, 3)))
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
    assert "Unbiased credits of per-turn rewards: `return_to_go()`" in text and "| `leave_one_out()` | no |" in text
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


def test_a_folder_without_a_checkout_is_an_error(tmp_path):
    with pytest.raises(InputError, match="not a checkout"):
        bias.main(["--root", str(tmp_path)])
