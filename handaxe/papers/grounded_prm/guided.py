"""Method wrapper with a step judge, trained on a tree search, that guides evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from handaxe.core.protocols import Rollout, StepJudge
from handaxe.judges.asked_steps import asked_steps
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.labelled_turns import teach_turns
from handaxe.methods.method import Method
from handaxe.papers.grounded_prm.node_labels import node_labels
from handaxe.papers.grounded_prm.step_agreement import step_agreement
from handaxe.rollouts.search.best_step import best_step
from handaxe.training.stages.sources import played

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
    """Train a step judge before the base's loop, and play evaluations by the judge.

        search plays `trees` training tasks --node_labels--> labels --teach_turns--> judge
        evaluations play best_step(judge); step_agreement compares the judge with the truth on each step's rollouts

    The judge is a copy of the policy; its weights are in every checkpoint, and the policy is unchanged. It replaces the
    judge of a base that is guided already.

    Args:
        base: method of the loop after the judge's training.
        search: rollout strategy such as `mcts`; one rollout is a tree.
        agree: as of `node_labels`.
        truth: exact judge of steps, for metrics alone.
        trees: tasks that are searched.
        epochs, learning_rate: of the judge's training.
        samples: candidates of a turn in evaluations.

    Returns:
        The base with one stage, the judge and its metrics as learners, and another rollout for evaluations.

    Example:
        guided(base, search=mcts(...), agree=True, truth=exact_steps(...)) has the stage teach_judge and two learners

    Paper: arXiv:2510.14942 (GroundedPRM), reward-guided greedy search with a trained process reward model.
    Differs: the judge answers yes or no at once, without a written rationale.
    """
    answerer = TaughtAnswerer(name="trained", epochs=epochs, learning_rate=learning_rate)
    judge = asked_steps(desk=answerer.desk)
    arguments: Mapping[str, Any] = {"rollout": search}
    searched = played(steps=1, groups=trees, group_size=1, arguments=arguments)
    labels = partial(node_labels, agree=agree)
    return replace(
        base,
        stages=(teach_turns(judge=judge, answerer=answerer, source=searched, labels=labels),),
        learners=(answerer, step_agreement(judge=judge, truth=truth)),
        evaluate_rollout=best_step(judge=judge, samples=samples, max_turns=base.settings.max_turns),
    )
