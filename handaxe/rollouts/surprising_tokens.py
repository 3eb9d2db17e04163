"""Chooses where to fork a trunk: at the tokens that the policy was least sure of."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["surprising_tokens"]


def surprising_tokens(*, count: int = 2, apart: int = 4) -> Choose:
    """Choose the sampled tokens with the highest entropy, or where none is recorded the least likely ones.

        u_t = entropy of the policy before token t        where every sequence has the feature "entropy"
        u_t = -log p(token t)                             otherwise: one draw's surprise, whose mean is the entropy

    A rollout has no features while it is played, so there it is the surprise. The highest u_t is taken first, then the
    highest that is at least `apart` tokens from each one taken in the same sequence; of equals the earlier. The fork
    is before the token: it is the first that the branch samples anew.

    Args:
        count: most places, >= 1.
        apart: fewest tokens between two places, >= 1.

    Returns:
        Trajectory -> places for `forking(at=...)`, the most surprising first; fewer than `count` where there are no
        more.

    Raises:
        InputError: count or apart below 1.

    Example:
        -log p of tokens 5..9 is 0.1, 2.0, 1.9, 0.2, 1.0; count 2, apart 2: places 6 and 9.

    Idea: branch where the policy hesitates; entropy-guided branching in one draw's estimate.
    """
    if count < 1 or apart < 1:
        raise InputError(f"count is {count} and apart {apart}; give 1 or more of each")

    def choose(trunk: Trajectory) -> list[Branch]:
        measured = all("entropy" in sequence.features for sequence in trunk.sequences)
        found = []
        for s, sequence in enumerate(trunk.sequences):
            u_T = sequence.features["entropy"] if measured else -sequence.logp
            found += [(-float(u_T[t]), s, int(t)) for t in np.flatnonzero(sequence.mask)]
        picked: list[Branch] = []
        for _, s, t in sorted(found):
            if len(picked) < count and all(one.sequence != s or abs(one.token - t) >= apart for one in picked):
                picked.append(Branch(trunk.id, s, t))
        return picked

    return choose
