"""How well a judge tells on attempts as they are played which criteria each turn reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.ops.reached import Criteria, f1_figures, reaches_of
from handaxe.records import Rated, Task
from handaxe.slots import Check

__all__ = ["GoalAgreement", "goal_agreement"]


def goal_agreement(
    *, criteria: Criteria, check: Check, truth: Check, where: Callable[[Task], bool] = lambda task: True
) -> GoalAgreement:
    """Make a learner that learns nothing and reports how a check does on each training step's attempts.

    Args:
        criteria: of a task.
        check: in question, such as that of a judge.
        truth: what it is compared with, such as a world's rule.
        where: at which tasks; at those that the judge was not taught by, its figures are held-out ones.

    Returns:
        A learner without a state; metrics learner/goal_agreement/NAME for f1, constant (that of saying always yes),
        difference (the former less the latter), said and true (shares), none for a step without attempts there.

    Example:
        one attempt of four turns and two criteria, reached in turns 1 and 3, said to be in turns 1 and 2: f1 0.5,
        constant 4 / 10, said and true 0.25

    Idea: asked of language models in arXiv:2409.12798 (CALM). Unconfirmed: over what; its abstract was read.
    """
    return GoalAgreement(criteria, check, truth, where)


class GoalAgreement:
    """See `goal_agreement`."""

    def __init__(self, criteria: Criteria, check: Check, truth: Check, where: Callable[[Task], bool]):
        self._criteria, self._where = criteria, where
        self._checks = (check, truth)

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Compare; nothing is learned."""
        del step
        attempts = [one for rated in groups if self._where(rated.group.task) for one in rated.group]
        said, true = (
            np.array([one.reached for one in reaches_of(attempts, criteria=self._criteria, check=check)], bool)
            for check in self._checks
        )
        if not len(true):
            return {}
        found = f1_figures(true, said.astype(np.float64))
        return {name: found[name] for name in ("f1", "constant", "difference", "said", "true")}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
