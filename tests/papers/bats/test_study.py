import pytest

from handaxe.papers.bats import _saving, bats


def test_the_study_compares_agents_at_equal_budgets():
    found = bats(tasks=2, seeds=2)(0)
    budgets = (1, 2, 4, 8, 16)
    mean = {a: sum(found[f"{a}/{b}/correct"] for b in budgets) / 5 for a in ("react", "tracker", "bats")}
    for gain, one, other in (("tracker", "tracker", "react"), ("bats", "bats", "tracker")):
        assert found[f"gain/{gain}"] == pytest.approx(mean[one] - mean[other], abs=1e-9)
        assert found[f"gain/{gain}/low"] <= found[f"gain/{gain}"] <= found[f"gain/{gain}/high"]
    growth = found["tracker/16/correct"] - found["tracker/4/correct"]
    assert found["growth/tracker"] == pytest.approx(growth, abs=1e-9) and found["most_over"] == 0


def test_the_saving_is_of_the_least_budget_with_equal_accuracy():
    figures = {"react/16/correct": 0.5, "react/16/dollars": 2.0}
    for budget, correct, dollars in ((1, 0.1, 0.5), (2, 0.4, 1.0), (4, 0.5, 1.5), (8, 0.9, 3.0), (16, 0.9, 4.0)):
        figures |= {f"tracker/{budget}/correct": correct, f"tracker/{budget}/dollars": dollars}
    assert _saving(figures) == pytest.approx(0.25, abs=1e-12)
    assert _saving(figures | {"react/16/correct": 0.95}) == 0
