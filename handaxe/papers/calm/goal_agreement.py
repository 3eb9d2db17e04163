"""How well a judge tells of attempts as they are played which criteria each turn has brought about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import Rated, Task, Trajectory
from handaxe.ops.checklists import told_of
from handaxe.papers.calm.reached import Criteria, f1_figures, reaches_of

__all__ = ["GoalAgreement", "goal_agreement"]


def goal_agreement(
    *, criteria: Criteria, says: Check, truth: Check, where: Callable[[Task], bool] = lambda task: True
) -> GoalAgreement:
    """Make a learner that learns nothing and reports how a check does on each training step's attempts.

    Args:
        criteria: of a task.
        says: in question: what each turn has brought about, such as a judge's answers. All of them count, also what it
            says of a criterion once more.
        truth: what is met after each turn, such as a world's rule; a criterion is brought about where it is met first.
        where: at which tasks; at those that the judge was not taught by, its figures are held-out ones.

    Returns:
        A learner without a state; metrics learner/goal_agreement/NAME for f1, constant (that of saying always yes),
        difference (the former less the latter), said and true (shares), none for a step without attempts there.

    Example:
        one attempt of four turns and two criteria, brought about in turns 1 and 3, said to be in turns 1 and 2: f1
        0.5, constant 4 / 10, said and true 0.25

    Idea: asked of language models in arXiv:2409.12798 (CALM). Unconfirmed: over what; its abstract was read.
    """
    return GoalAgreement(criteria, says, truth, where)


class GoalAgreement:
    """See `goal_agreement`."""

    def __init__(self, criteria: Criteria, says: Check, truth: Check, where: Callable[[Task], bool]):
        self._criteria, self._where = criteria, where
        self._says, self._truth = says, truth

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Compare; nothing is learned."""
        del step
        attempts = [one for rated in groups if self._where(rated.group.task) for one in rated.group]
        true = [one.reached for one in reaches_of(attempts, criteria=self._criteria, check=self._truth)]
        said = [self._told(one) for one in attempts]
        if not true:
            return {}
        found = f1_figures(np.array(true, bool), np.concatenate(said))
        return {name: found[name] for name in ("f1", "constant", "difference", "said", "true")}

    def _told(self, one: Trajectory) -> np.ndarray:
        """[N C] 0 or 1, in the order of `reaches_of`."""
        return told_of(self._says, one, list(self._criteria(one.task))).T.ravel().astype(np.float64)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
