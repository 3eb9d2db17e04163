"""Reinforcement learning of a second policy, while the run's own is asked and stays as it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import AuxPolicy, Stage, StageContext
from handaxe.training.loop.aux_policy import SecondPolicy
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import keep_at
from handaxe.training.stages.reinforce import ROLES

__all__ = ["reinforce_second", "with_policy_asked"]

KEEP = RunConfig()


def reinforce_second(*, second: SecondPolicy, asks: str, arguments: Mapping[str, Any], keep: RunConfig = KEEP) -> Stage:
    """Make a stage that is one call of `train` on the engine of a second policy.

        train(engine=second.engine, others={asks: the site's engine}, ...)

    The site's engine takes no step. Checkpoints of the stage hold both.

    Args:
        second: begins as the site's policy where it has no engine yet.
        asks: the name under which rollouts ask the run's own policy.
        arguments: of `train`, in the place of the site's roles; credit and loss at least.
        keep: loggers and checkpoints; its folder, `resume` and `progress` are those of the site.

    Returns:
        A stage: metrics of each step.

    Raises:
        InputError: for a name that `train` does not know or that the stage decides; an engine that cannot be twinned.
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        second.begin(site.engine)
        here = keep_at(site)
        kept = replace(keep, out=here.out, resume=here.resume, progress=here.progress)
        roles = {name: getattr(site, name) for name in ROLES if name != "engine"}
        given = with_policy_asked(site, asks, arguments)
        return train(engine=second.engine, **{**roles, **given}, keep=kept).metrics

    return stage


def with_policy_asked(site: StageContext, asks: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `train` with which rollouts may ask the site's own policy, and its state is in the checkpoints."""
    others = {**arguments.get("others", {}), asks: AuxPolicy(site.engine, site.format, site.sampling)}
    learners = (*arguments.get("learners", ()), SecondPolicy(site.engine))
    return {**arguments, "others": others, "learners": learners}
