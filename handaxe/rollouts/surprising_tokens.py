"""Choose forks at the tokens with the highest entropy.

Kept: a fork point of `forking` for users.
"""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose

__all__ = ["surprising_tokens"]


def surprising_tokens(*, count: int = 2, apart: int = 4) -> Choose:
    """Choose the sampled tokens with the highest entropy; without recorded entropies, the least likely tokens.

        u_t = entropy of the policy before token t        where every sequence has the feature "entropy"
        u_t = -log p(token t)                             otherwise: surprise of one draw, whose mean is the entropy

    Trajectories have no features during rollouts, where surprise is used. Places are taken greedily by decreasing u_t,
    each at least `apart` tokens from all taken ones of its sequence; ties go to the earlier token. The fork is before
    the token: the branch samples it again.

    Args:
        count: maximum number of places, >= 1.
        apart: minimum distance of two places in tokens, >= 1.

    Returns:
        Trajectory -> places for `forking(at=...)`, the most surprising first; possibly fewer than `count`.

    Raises:
        InputError: count or apart below 1.

    Example:
        -log p of tokens 5..9 is 0.1, 2.0, 1.9, 0.2, 1.0; count 2, apart 2: places 6 and 9.

    Idea: branch where the policy hesitates; entropy-guided branching with a one-draw estimate.
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
