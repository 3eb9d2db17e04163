"""Limit on generation ahead of training, and ages of trained tokens.

    N groups launched, the next one included; B groups a step; i steps done; eta the maximum staleness

    launch  <=>  floor((N - 1) / B) <= i + eta

The N-th group is launched for step s = floor((N - 1) / B) and trained in step s. It may be launched once s - eta steps
are done, so none of its tokens is older than eta steps when it trains, for any duration of its tools: the step waits
for it. No other order keeps the bound. With the gate kept full, (i + 1) B groups are launched by the time i - eta steps
are done; each of them must train by step i if no age may exceed eta, and exactly (i + 1) B groups train by then.

With eta 0 these are a step's own groups, at the step's own time. `training.loop.player` then skips the gate: a run
without staleness is the synchronous code path, which launches the groups of a step when the step begins.

Paper: ASearcher, arXiv:2508.07976, and AReaL, arXiv:2505.24298, section on staleness-aware training.
Differs: AReaL takes the first B groups that are finished, so that slow groups grow older than eta; so does
`AsyncConfig.race`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup, Trajectory

__all__ = ["may_launch", "rollout_ages", "token_ages"]


def may_launch(launched: int, *, groups: int, done: int, staleness: int) -> bool:
    """Test the gate for one more group.

    Args:
        launched: N >= 1, number of launched groups, this one included.
        groups: B >= 1, groups a step.
        done: i >= 0, steps done.
        staleness: eta >= 0.

    Raises:
        InputError: a number is out of range.

    Example:
        B 4, eta 1, i 0: N = 8 -> floor(7 / 4) = 1 <= 1, yes; N = 9 -> 2 > 1, not before i is 1
    """
    if launched < 1 or groups < 1 or done < 0 or staleness < 0:
        raise InputError(f"the gate got launched {launched}, groups {groups}, done {done}, staleness {staleness}")
    return (launched - 1) // groups <= done + staleness


def token_ages(trained: Sequence[RatedGroup], start_versions: Sequence[int]) -> dict[str, float]:
    """Compute the ages, in steps, of the tokens that a step trains.

        age of a token = this step - the last step that began with the weights that sampled it

    so a step without an update ages nothing.

    Args:
        trained: the groups as the loss sees them.
        start_versions: the engine's version at the start of every step, this one last.

    Returns:
        staleness/mean over trained tokens that a policy sampled, and staleness/max; {} without such tokens.

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
    ages = np.array([_age(int(version), start_versions) for version in found])
    return {"staleness/mean": float(np.average(ages, weights=counts)), "staleness/max": float(ages.max())}


def rollout_ages(trajectories: Iterable[Trajectory], start_versions: Sequence[int]) -> np.ndarray:
    """Compute the age of each rollout's oldest sampled token, as `token_ages` counts.

    Returns:
        [P] float64, NaN for a rollout without sampled tokens.

    Example:
        versions at the start of steps 0, 1, 2: 0, 2, 4. In step 2 a rollout of versions 4 and 2 -> 1
    """

    def age(trajectory: Trajectory) -> float:
        sampled = [one.version[one.mask & ~one.forced] for one in trajectory.sequences]
        oldest = min((int(version.min()) for version in sampled if len(version)), default=None)
        return np.nan if oldest is None or not start_versions else float(_age(oldest, start_versions))

    return np.array([age(one) for one in trajectories], np.float64)


def _age(version: int, start_versions: Sequence[int]) -> int:
    return len(start_versions) - max(1, bisect_right(start_versions, version))
