"""How far generation may run ahead of training: the staleness gate, and how old what is trained has become.

    N groups launched, the one to be launched included; B groups a step; i steps done; eta the most staleness

    launch  <=>  floor((N - 1) / B) <= i + eta

The N-th group is launched for step s = floor((N - 1) / B) and trained in step s. It may be launched as soon as s - eta
steps are done, so none of its tokens is older than eta steps when it trains, however long its tools took: the step
waits for it. No other order would do. With the gate kept full, (i + 1) B groups are launched by the time i - eta steps
are done; each of them must train by step i if no age may exceed eta, and (i + 1) B is just how many train by then.

With eta 0 that is a step's own groups and no others, in its own time. `training.loop.player` then does not ask: a run
that stays up to date is the synchronous code path itself, which launches the groups of a step when the step begins.

Paper: ASearcher, arXiv:2508.07976, and AReaL, arXiv:2505.24298, section on staleness-aware training.
Differs: AReaL takes the first B groups that are finished, which lets slow ones grow older than eta; so does
`Pace.first_come`.
"""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Rated

__all__ = ["may_launch", "token_ages"]


def may_launch(launched: int, *, groups: int, done: int, staleness: int) -> bool:
    """Whether one more group may be launched.

    Args:
        launched: N >= 1, groups launched so far and this one.
        groups: B >= 1, groups a step.
        done: i >= 0, steps done.
        staleness: eta >= 0.

    Raises:
        InputError: a number out of its range.

    Example:
        B 4, eta 1, i 0: N = 8 -> floor(7 / 4) = 1 <= 1, yes; N = 9 -> 2 > 1, not before i is 1
    """
    if launched < 1 or groups < 1 or done < 0 or staleness < 0:
        raise InputError(f"the gate got launched {launched}, groups {groups}, done {done}, staleness {staleness}")
    return (launched - 1) // groups <= done + staleness


def token_ages(trained: Sequence[Rated], begun: Sequence[int]) -> dict[str, float]:
    """How old, in steps, the tokens are that a step trains.

        age of a token = this step - the last step that began with the weights that wrote it

    so a step that left the weights alone ages nothing.

    Args:
        trained: the groups as the loss sees them.
        begun: the engine's version at the beginning of every step, this one the last.

    Returns:
        staleness/mean over trained tokens that a policy drew, and staleness/max; nothing when there is none.

    Example:
        versions at the start of steps 0, 1, 2: 0, 2, 4. In step 2 tokens of version 4, 4, 2 -> mean 1/3, max 1
    """
    versions = [
        sequence.version[mask & ~sequence.forced]
        for one in trained
        for i, trajectory in enumerate(one.group)
        for sequence, mask in zip(trajectory.sequences, one.training_mask(i))
    ]
    found, counts = np.unique(np.concatenate(versions) if versions else np.zeros(0, int), return_counts=True)
    if not len(found):
        return {}
    ages = np.array([len(begun) - max(1, bisect_right(begun, int(version))) for version in found])
    return {"staleness/mean": float(np.average(ages, weights=counts)), "staleness/max": float(ages.max())}
