import sys
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Message, Task
from handaxe.papers.dynaicl.budget_figures import BUDGETS, budget_figures, budgeted_counts


def test_an_allocation_keeps_the_budget():
    assert budgeted_counts(np.array([1.0, 2.0, 3.0]), 2, 4) == [1, 2, 3]
    found = budgeted_counts(np.array([1.0, 1.3, 1.3, 1.3]), 1, 4)
    assert sum(found) <= 4 and max(found) <= 4
    assert budgeted_counts(np.array([0.1, 0.1, 4.0]), 3, 4) == [0, 0, 4]


class Player:
    """A question needs its last digit of demonstrations."""

    def correct(self, tasks, counts, *, seed):
        return [float(count >= int(task.id[-1])) for task, count in zip(tasks, counts, strict=True)]


def test_arms_are_played_under_their_budgets(monkeypatch):
    """Questions need 0 and 2 demonstrations; the controller predicts these numbers."""
    tasks = [Task("q0", (Message("user", "a?"),), "", None, {"code": "plain"})]
    tasks.append(Task("q2", (Message("user", "b?"),), "", None, {"code": "K"}))
    controller = SimpleNamespace(expected=lambda prompt_PD: np.array([0.0, 2.0]), sample=lambda prompt_PD: [0, 1])
    controllers = {"taught": controller, "reinforced": controller}
    monkeypatch.setattr(
        sys.modules[budget_figures.__module__], "prompt_vectors", lambda tasks: np.zeros((len(tasks), 2))
    )
    found = budget_figures(Player(), controllers, tasks, cost=0.1, most=4, seed=0)
    assert [found[f"uniform/{budget}"] for budget in BUDGETS] == [0.5, 1, 1]
    assert [found[f"reinforced/{budget}"] for budget in BUDGETS] == [1, 1, 1]
    assert found["reinforced/1/used"] == 1 and found["uniform/3/used"] == 3
    assert found["taught/reward"] == pytest.approx((1 + 0 - 0.1) / 2)
    assert (found["plain/count"], found["coded/count"]) == (0, 2)
