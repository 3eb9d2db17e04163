"""A method that teaches a judge what a search found of steps, and plays evaluations by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from handaxe.core.protocols import Rollout, StepJudge
from handaxe.judges.taught_verdict import taught_verdict
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.node_labels import node_labels
from handaxe.papers.grounded_prm.step_agreement import step_agreement
from handaxe.rollouts.search.best_step import best_step
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach_second import teach_second

__all__ = ["guided"]


def guided(
    base: Method,
    *,
    search: Rollout,
    agree: bool,
    truth: StepJudge,
    trees: int = 96,
    epochs: int = 3,
    samples: int = 3,
    learning_rate: float = 1e-3,
) -> Method:
    """The base, before whose loop a copy of the policy becomes a judge of steps.

        search plays `trees` training tasks --node_labels--> labels --teach_second--> judge
        evaluations play best_step(judge); step_agreement compares the judge with the truth on each step's attempts

    The judge's weights are in every checkpoint, and the policy stays as it is. Where the base is such a method already,
    this takes its place.

    Args:
        base: what is trained after that, if anything.
        search: such as `mcts`; one attempt is a tree.
        agree: as of `node_labels`.
        truth: says which steps are wrong, for the figures alone.
        trees: tasks that are searched.
        epochs, learning_rate: of the judge.
        samples: candidates of a turn in evaluations.
    """
    judge = taught_verdict()
    plays: Mapping[str, Any] = {"rollout": search}
    searched = played(steps=1, groups=trees, group_size=1, arguments=plays)
    source = judge.lessons(searched, partial(node_labels, agree=agree))
    taught = teach_second(second=judge.second, source=source, epochs=epochs, learning_rate=learning_rate)
    return replace(
        base,
        stages=(taught,),
        learners=(judge.second, step_agreement(judge=judge, truth=truth)),
        evaluate_rollout=best_step(judge=judge, samples=samples, max_turns=base.settings.max_turns),
    )
