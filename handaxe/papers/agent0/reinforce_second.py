"""Stage of reinforcement learning for a second policy; the run's own policy answers its requests and does not train."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.protocols import AuxPolicy, Stage, StageContext
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.sft.supervised import stage_run
from handaxe.training.stages.reinforce import ROLES

__all__ = ["add_policy", "reinforce_second"]

RUN = RunConfig()


def reinforce_second(*, second: AuxLearner, aux_name: str, arguments: Mapping[str, Any]) -> Stage:
    """Make a stage with a single call of `train` on the engine of a second policy.

        train(engine=second.engine, run=RunConfig(aux_policies={aux_name: the context's engine}), ...)

    The context's engine takes no step. Checkpoints of the stage have both policies.

    Args:
        second: starts from the context's policy if it has no engine yet.
        aux_name: name of the aux policy by which rollouts reach the run's own policy.
        arguments: of `train`, replacing the context's roles; at least credit and loss. The context sets folder,
            `resume` and `progress` of `run`.

    Returns:
        A stage: metrics of each step.

    Raises:
        InputError: an unknown argument of `train`, or one that the stage sets; an engine that cannot be copied.

    Example:
        reinforce_second(second=AuxLearner(), aux_name="solver", arguments={"steps": 5, ...}) trains the second policy
        for 5 steps; the run's own weights stay the same

    Paper: arXiv:2511.16043 (Agent0), the curriculum step: the executor is frozen while the curriculum agent trains.
    Differs: nothing known.
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        second.begin(site.engine)
        roles = {name: getattr(site, name) for name in ROLES if name != "engine"}
        resolved = add_policy(site, aux_name, arguments)
        run = stage_run(site, resolved["run"])
        return train(engine=second.engine, **{**roles, **resolved, "run": run}).metrics

    return stage


def add_policy(site: StageContext, aux_name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Add the context's own policy to the aux policies and, for checkpoints, to the learners."""
    run = arguments.get("run", RUN)
    aux_policies = {**run.aux_policies, aux_name: AuxPolicy(site.engine, site.format, site.sampling)}
    learners = (*arguments.get("learners", ()), AuxLearner(site.engine))
    return {**arguments, "run": replace(run, aux_policies=aux_policies), "learners": learners}
