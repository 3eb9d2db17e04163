"""Search trees of a round of self-training: value targets for the value model, and traces for the policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Source, Stage, StageContext, StepJudge
from handaxe.core.records import Group, RatedGroup, Scores
from handaxe.ops.turn_tree import total_usage, turn_tree
from handaxe.papers.rest_mcts.tree_values import tree_values
from handaxe.rollouts.search.value_search import CHOSEN

__all__ = ["TreePool", "search_trees", "value_errors", "value_targets", "with_targets"]

LEAST = 1e-3
"""Least rank of a correct trace, so that a trace with the value 0 is a candidate."""


class TreePool:
    """Trees of a `search_trees` stage, as two sources for later stages.

    Args:
        judge: value model that ranks traces.
    """

    def __init__(self, judge: StepJudge) -> None:
        self.judge = judge
        self.groups: list[RatedGroup] = []

    def targets(self, site: StageContext) -> list[RatedGroup]:
        """Trees with value targets of turns, each turn once."""
        del site
        return [_with_targets(one) for one in self.groups]

    def traces(self, site: StageContext) -> list[RatedGroup]:
        """Trees whose outcome is the mean value of the turns of a correct trace, and 0 of others."""
        del site
        return [_with_scores(one, Scores(self._rank(one))) for one in self.groups]

    def _rank(self, one: RatedGroup) -> np.ndarray:
        """[G]: 0 of a wrong trace."""
        means = [float(own.mean()) if len(own) else 0.0 for own in self.judge.score_steps(one.group)]
        return np.where(one.scores.outcome > 0.5, np.maximum(means, LEAST), 0.0)


def search_trees(*, into: TreePool, source: Source) -> Stage:
    """Make a stage that grows trees without training, and stores these in a pool.

        value_error    mean of (judge - target)^2 over labelled turns, before the judge learns from them
        solved         share of trees with a correct trace
        answered       share of trees whose answer by the search is correct
        tokens         sampled tokens of a tree, with unfinished trajectories
        targets        number of labelled turns

    Args:
        into: pool; its content is replaced.
        source: of trees, scored by the correctness of answers; one group is a tree.

    Returns:
        A stage: one row of these metrics, with the number of trees.

    Example:
        two trees, one with a correct trace  ->  trees 2, solved 0.5

    Paper: arXiv:2406.03816 (ReST-MCTS*), generation of data for policy and value model.
    Differs: nothing.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        into.groups = source(site)
        errors = [value_errors(one.group, one.scores.outcome, into.judge) for one in into.groups]
        error_T = np.concatenate([np.zeros(0), *errors])
        solved = [bool((one.scores.outcome > 0.5).any()) for one in into.groups]
        row = {
            "step": 0.0,
            "trees": float(len(into.groups)),
            "solved": float(np.mean(solved)) if solved else 0.0,
            "answered": float(np.mean([_answered(one) for one in into.groups])) if solved else 0.0,
            "tokens": float(np.mean([total_usage(one.played.group).tokens for one in into.groups])) if solved else 0.0,
            "targets": float(len(error_T)),
        }
        return [row | ({"value_error": float((error_T**2).mean())} if len(error_T) else {})]

    return stage


def value_targets(group: Group, outcome_G: np.ndarray) -> Scores:
    """Value targets of a tree's turns; NaN where a sibling before has the same turn, or without a label.

    Example:
        a b c is correct, and a x is wrong  ->  1/3, 2/3, 1  and  NaN, 1/9
    """
    tree = turn_tree(group)
    value = tree_values(group, outcome_G)
    found = []
    for i, (nodes_N, own_N) in enumerate(zip(tree.nodes, value, strict=True)):
        first_N = np.array([tree.members[node][0] == i for node in nodes_N], bool)
        found.append(np.where(first_N, own_N, np.nan))
    return Scores(outcome_G, turns=tuple(found))


def with_targets(source: Source) -> Source:
    """Replace the scores of a source's groups by `value_targets`, for `training.stages.fit`.

    Independent rollouts count as a tree that shares only the question.

    Example:
        a correct rollout of three turns and a wrong one of two  ->  1/3, 2/3, 1  and  0, 0

    Paper: arXiv:2406.03816 (ReST-MCTS*), data of the first value model.
    Differs: the paper labels solutions of a data set and their corruptions; here the policy samples both.
    """

    def labelled(site: StageContext) -> list[RatedGroup]:
        return [_with_targets(one) for one in source(site)]

    return labelled


def _with_targets(one: RatedGroup) -> RatedGroup:
    return _with_scores(one, value_targets(one.group, one.scores.outcome))


def _with_scores(one: RatedGroup, scores: Scores) -> RatedGroup:
    return replace(one, scored=replace(one.scored, scores=scores))


def value_errors(group: Group, outcome_G: np.ndarray, judge: StepJudge) -> np.ndarray:
    """Errors of a value model at the labelled turns of a tree, [number of labels]: judge - target.

    Example:
        values 0.5, 1 for targets 1/3, NaN  ->  1/6
    """
    turns = value_targets(group, outcome_G).turns or ()
    error = [own - target for own, target in zip(judge.score_steps(group), turns, strict=True)]
    error_T = np.concatenate([np.zeros(0), *error])
    return error_T[~np.isnan(error_T)]


def _answered(one: RatedGroup) -> bool:
    return bool(any(_is_answer(one.group, i) and one.scores.outcome[i] > 0.5 for i in range(len(one.group))))


def _is_answer(group: Group, i: int) -> bool:
    return bool(group[i].notes.get(CHOSEN))
