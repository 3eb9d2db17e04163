"""Learner that reports the agreement of a judge with the world's rule on newly reached criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import RatedGroup, Task, Trajectory
from handaxe.ops.criteria import apply_check
from handaxe.papers.calm.goal_transitions import Criteria, f1_figures, goal_transitions

__all__ = ["GoalAgreement", "goal_agreement"]


def goal_agreement(
    *, criteria: Criteria, judge: Check, rule: Check, task_filter: Callable[[Task], bool] = lambda task: True
) -> GoalAgreement:
    """Make a learner without updates that reports the F1 of a judge on each training step's rollouts.

    Args:
        criteria: of a task.
        judge: check under test: criteria that each turn has reached, such as a judge's verdicts. Repeated verdicts on a
            criterion count.
        rule: criteria met after each turn, such as a world's rule; a criterion is reached in the turn that first meets
            it.
        task_filter: tasks to measure; with tasks that the judge was not trained on, its figures are held-out ones.

    Returns:
        A learner without a state; metrics learner/goal_agreement/NAME for f1, constant (that of a constant yes),
        difference (f1 - constant), said and true (shares), none for a step without rollouts of such tasks.

    Example:
        one rollout of four turns and two criteria, reached in turns 1 and 3, judged as reached in turns 1 and 2: f1
        0.5, constant 4 / 10, said and true 0.25

    Idea: a question to language models in arXiv:2409.12798 (CALM).
    Unconfirmed: the sample that the paper measures; its abstract was read.
    """
    return GoalAgreement(criteria, judge, rule, task_filter)


class GoalAgreement:
    """Learner made by `goal_agreement`."""

    def __init__(self, criteria: Criteria, judge: Check, rule: Check, task_filter: Callable[[Task], bool]):
        self._criteria, self._task_filter = criteria, task_filter
        self._judge, self._rule = judge, rule

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Compare the judge with the rule; nothing is learned."""
        del step
        attempts = [one for rated in groups if self._task_filter(rated.group.task) for one in rated.group]
        true = [one.reached for one in goal_transitions(attempts, criteria=self._criteria, check=self._rule)]
        verdicts = [self._verdicts(one) for one in attempts]
        if not true:
            return {}
        found = f1_figures(np.array(true, bool), np.concatenate(verdicts))
        return {name: found[name] for name in ("f1", "constant", "difference", "said", "true")}

    def _verdicts(self, one: Trajectory) -> np.ndarray:
        """[N C] 0 or 1, in the order of `goal_transitions`."""
        return apply_check(self._judge, one, list(self._criteria(one.task))).T.ravel().astype(np.float64)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
