"""Play, and hand on what was played."""

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Rated
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.sources import play_at

__all__ = ["GroupPool", "collect"]

NOTHING: Mapping[str, Any] = {}


class GroupPool:
    """Groups that a stage collected. It is a Source: a stage after it may learn from them."""

    def __init__(self) -> None:
        self.groups: list[Rated] = []

    def __call__(self, site: StageContext) -> list[Rated]:
        del site
        return list(self.groups)


def collect(
    *, into: GroupPool, steps: int = 1, groups: int = 16, group_size: int = 8, arguments: Mapping[str, Any] = NOTHING
) -> Stage:
    """Make a stage that plays without training and puts the groups that were scored into a pool.

    They stand in the record of the stage, from which the pool is filled again on resume.

    Args:
        into: replaced is what it held.
        steps, groups, group_size: as of `train`.
        arguments: further ones of `train`, also in place of the site's roles.

    Returns:
        A stage: one row of metrics, how many groups and attempts were scored and their mean outcome.
    """
    check_train_arguments(arguments)
    chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}

    def stage(site: StageContext) -> list[dict[str, float]]:
        into.groups = play_at(site, chosen)
        outcomes = [float(value) for one in into.groups for value in one.scores.outcome]
        mean = sum(outcomes) / len(outcomes) if outcomes else float("nan")
        return [{"step": 0.0, "groups": float(len(into.groups)), "trajectories": float(len(outcomes)), "reward": mean}]

    return stage
