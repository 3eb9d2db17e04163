"""Stage that samples rollouts and stores the groups."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import RatedGroup
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.sources import play_at

__all__ = ["GroupPool", "collect"]

NOTHING: Mapping[str, Any] = {}


class GroupPool:
    """Groups of a `collect` stage, a Source for later stages."""

    def __init__(self) -> None:
        self.groups: list[RatedGroup] = []

    def __call__(self, site: StageContext) -> list[RatedGroup]:
        del site
        return list(self.groups)


def collect(
    *, into: GroupPool, steps: int = 1, groups: int = 16, group_size: int = 8, arguments: Mapping[str, Any] = NOTHING
) -> Stage:
    """Make a stage that samples rollouts without training and stores the scored groups in a pool.

    The groups are in the record of the stage, from which the pool is restored on resume.

    Args:
        into: pool; its content is replaced.
        steps, groups, group_size: as for `train`.
        arguments: further arguments of `train`, which override the stage's roles.

    Returns:
        A stage: one row of metrics, the number of scored groups and rollouts and their mean outcome.

    Example:
        steps 2, groups 2, group_size 3  ->  a pool of 4 groups, and the metrics groups 4, trajectories 12

    Paper: arXiv:2505.20732 (SPA-RL), rollouts of the base policy, from which the progress estimator learns.
    Differs: nothing known.
    """
    check_train_arguments(arguments)
    chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}

    def stage(site: StageContext) -> list[dict[str, float]]:
        into.groups = play_at(site, chosen)
        outcomes = [float(value) for one in into.groups for value in one.scores.outcome]
        mean = sum(outcomes) / len(outcomes) if outcomes else float("nan")
        return [{"step": 0.0, "groups": float(len(into.groups)), "trajectories": float(len(outcomes)), "reward": mean}]

    return stage
