"""Trains a judge before the loop.

Kept: reward models for users and papers.
"""

from __future__ import annotations

from typing import Protocol

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled, Source, Stage, StageContext

__all__ = ["FittableLearner", "fit"]


class FittableLearner(Protocol):
    """A judge that begins as a copy of the policy and learns from labels, such as `judges.reward_model`."""

    def begin(self, engine: Engine) -> None: ...

    def fit(self, labelled: list[Labelled]) -> dict[str, float]: ...


def fit(*, judge: FittableLearner, source: Source) -> Stage:
    """Make a stage that fits a judge on the scored groups of a source. The policy stays unchanged.

    List the judge in `learners` of the method, so that checkpoints hold its weights. The stage of a resumed run fits
    again, from the recorded groups; a checkpoint of the loop then restores the judge.

    Args:
        judge: begins as a copy of the context's policy if it has no model yet.
        source: of groups, such as `training.stages.sources.played`; the scores are the labels.

    Returns:
        A stage: metrics of the fit, one row.

    Raises:
        InputError: the source has no scored group.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        judge.begin(site.engine)
        groups = source(site)
        if not groups:
            raise InputError("there is nothing to fit the judge on: the source has no scored group")
        found = judge.fit([(one.group, one.scores) for one in groups])
        return [{"step": 0.0, **{name: float(value) for name, value in found.items()}}]

    return stage
