"""Sampled chains of a question: correctness, calls, length and entropy."""

from typing import NamedTuple

import numpy as np

from handaxe.core.records import RatedGroup, Trajectory
from handaxe.papers.tool_light.entropy_tree import NOTE, chain_entropy

__all__ = ["Chain", "Sampled", "read_chains"]


class Chain(NamedTuple):
    """A chain with its numbers of tool calls and tokens, and its mean step entropy (infinite without measures)."""

    trajectory: Trajectory
    calls: int
    tokens: int
    entropy: float


class Sampled(NamedTuple):
    """Chains of a question.

    correct, incorrect  chains with outcome 1, and with outcome 0; others are in neither
    accuracy            share of the scored chains that is correct; NaN without a scored chain
    guided              the chains are of `entropy_tree`
    """

    correct: list[Chain]
    incorrect: list[Chain]
    accuracy: float
    guided: bool


def read_chains(rated: RatedGroup) -> Sampled:
    """Sort the trained chains of a group by correctness.

        correct = outcome 1        incorrect = outcome 0        by `sample`, then id

    Chains without a score or without a token of the policy are left out.

    Args:
        rated: chains of one question.

    Returns:
        Correct and incorrect chains, the accuracy over both and all other scored chains, and the kind of sampling.

    Example:
        outcomes 1, 0, 0.5, 1  ->  two correct chains, one incorrect, accuracy 0.5

    Paper: arXiv:2509.23285 (Tool-Light), pair criteria: correct is F1 = 1, incorrect is F1 = 0.
    Differs: nothing.
    """
    outcome_G = rated.scores.outcome
    group = rated.group
    able = [i for i, one in enumerate(group) if rated.trained[i] and one.num_tokens and not np.isnan(outcome_G[i])]
    able.sort(key=lambda i: (group[i].sample, group[i].id))
    right = [_chain(group[i]) for i in able if outcome_G[i] == 1]
    wrong = [_chain(group[i]) for i in able if outcome_G[i] == 0]
    accuracy = len(right) / len(able) if able else float("nan")
    return Sampled(right, wrong, accuracy, any(NOTE in group[i].notes for i in able))


def _chain(one: Trajectory) -> Chain:
    return Chain(one, len(one.calls), one.num_tokens, chain_entropy(one))
