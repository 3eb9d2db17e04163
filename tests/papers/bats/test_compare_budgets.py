import numpy as np
import pytest

from handaxe.papers.bats.compare_budgets import AGENTS, BudgetFigures, compare_budgets

FOUND = compare_budgets(budgets=(1, 4), seeds=(0, 1), tasks=6, patience=4)


def figure(agent, budget, name):
    return FOUND[agent, budget][:, BudgetFigures._fields.index(name)]


def test_every_agent_has_a_row_a_seed():
    assert set(FOUND) == {(agent, budget) for agent in AGENTS for budget in (1, 4)}
    assert all(rows.shape == (2, len(BudgetFigures._fields)) and np.isfinite(rows).all() for rows in FOUND.values())


def test_no_agent_exceeds_a_limit_and_none_with_a_tracker_is_refused():
    assert all(figure(agent, budget, "over").max() == 0 for agent, budget in FOUND)
    assert all(figure(agent, budget, "calls").max() <= 2 * budget for agent, budget in FOUND)
    assert figure("react", 1, "refused").min() > 0
    assert all(figure(agent, budget, "refused").max() == 0 for agent in ("tracker", "bats") for budget in (1, 4))


def test_one_call_of_each_tool_is_used_alike():
    for agent in ("tracker", "bats"):
        assert figure(agent, 1, "correct").tolist() == figure("react", 1, "correct").tolist()
        assert (figure(agent, 1, "dollars") > 0).all()


def test_rollouts_repeat():
    again = compare_budgets(budgets=(4,), seeds=(1,), tasks=6, patience=4)
    for agent in AGENTS:
        assert again[agent, 4][0] == pytest.approx(FOUND[agent, 4][1], abs=1e-12)
