"""Stage that trains a learner, such as a judge, outside of the main loop."""

from typing import Any

from handaxe.core.protocols import Learner, Source, Stage, StageContext
from handaxe.training.loop.describe import describe
from handaxe.training.loop.learners import begin_all
from handaxe.training.loop.run import Run
from handaxe.training.sft.supervised import in_batches, stage_run, stateful_parts

__all__ = ["fit"]


def fit(*, learner: Learner, source: Source, epochs: int = 1, batch_size: int = 32) -> Stage:
    """Make a stage in which a learner learns from groups, as once a step in `train`; the policy is unchanged.

    Args:
        learner: the learner; its state is in the stage's checkpoints.
        source: of groups; see training.stages.sources.
        epochs: passes over the groups, each in another order.
        batch_size: groups a step.

    Returns:
        A stage: the learner's metrics of each step.

    Example:
        5 groups, batch_size 2, epochs 2  ->  6 steps of 2, 2, 1, 2, 2 and 1 groups

    Paper: arXiv:2505.20732 (SPA-RL), training of the progress estimator before RL; one epoch in the paper.
    Differs: nothing known.
    """
    about: dict[str, Any] = describe(locals())

    def stage(site: StageContext) -> list[dict[str, float]]:
        begin_all([learner], site.engine)
        groups = source(site)
        order = list(in_batches(len(groups), batch_size, epochs, site.seed))
        parts = {**stateful_parts(site), "learner": learner}
        run = Run(site.engine, parts, len(order), about, stage_run(site), title="fit", format=site.format)
        with run:
            for step in run.todo():
                found = learner.learn([groups[i] for i in order[step]], step=step)
                run.finish([], {name: float(value) for name, value in found.items()})
        return run.result().metrics

    return stage
