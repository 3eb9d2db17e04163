"""Credit of signs: the sign of a sparse reward, and a bounded dense reward."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.training.stages.parts.program_search import TASK

__all__ = ["SIZE", "sign_bounded"]

SIZE = 0.1
"""Size of the dense part of a turn; the sparse part is 1."""


def sign_bounded(*, credit: Credit, dense: str = "program", sparse: str = TASK, bounded: bool = True) -> Credit:
    """Replace the outcome by the sign of a sparse channel and a bounded dense channel, before a credit.

        R_i = sgn(sparse_i) + min(max(dense_i, -0.1 N_i), 0.1 N_i)        dense_i = sum_n 0.1 sgn(d_i[n])

    N_i is the number of turns of rollout i. The signs of the turns, d, are taken in the program
    (`bounded_programs`); the limits here hold for any program. Turn rewards are left out. The credit gives each token
    of the rollout its share of R_i.

    Args:
        credit: of the reward R, such as the base's.
        dense: channel of the program.
        sparse: channel of the sparse reward, such as correctness.
        bounded: False is R_i = sparse_i + dense_i.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence; a sibling without outcome (NaN) stays unscored.

    Raises:
        InputError: in a call; the scores lack one of the channels.

    Example:
        one turn each; sparse 5 and dense -0.1 -> R = 1 - 0.1 = 0.9; sparse 0 and dense 0.1 -> R = 0.1;
        sparse 0 and dense 40 -> R = 0.1

    Paper: arXiv:2312.09238 (Auto MC-Reward), the composition sgn(sparse) + 0.1 sgn(dense) of a step.
    Differs: the sparse part counts once a rollout, not once a step.
    """
    return _SignBounded(credit, dense, sparse, bounded)


class _SignBounded(StatefulComposite):
    def __init__(self, credit: Credit, dense: str, sparse: str, bounded: bool):
        self._credit = credit
        self._dense = dense
        self._sparse = sparse
        self._bounded = bounded

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        if missing := sorted({self._dense, self._sparse} - scores.channels.keys()):
            raise InputError(
                f"sign_bounded reads the channels {self._sparse!r} and {self._dense!r}, and the scores of group "
                f"{group.task.id!r} lack {' and '.join(missing)}: combine both rewards with rewards.weighted"
            )
        sparse_G = np.asarray(scores.channels[self._sparse], np.float64)
        dense_G = np.asarray(scores.channels[self._dense], np.float64)
        if self._bounded:
            limit_G = SIZE * np.array([len(one.turns) for one in group], np.float64)
            sparse_G = np.sign(sparse_G)
            dense_G = np.clip(dense_G, -limit_G, limit_G)
        outcome_G = np.where(np.isfinite(scores.outcome), sparse_G + dense_G, scores.outcome)
        return self._credit(group, replace(scores, outcome=outcome_G, turns=None))

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}
