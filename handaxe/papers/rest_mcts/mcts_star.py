"""MCTS* and the value model that guides it."""

from typing import Literal

from handaxe import judges, losses, rollouts
from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, StepJudge
from handaxe.judges.reward_model import RewardModel
from handaxe.papers.rest_mcts.value_uct import value_uct
from handaxe.rollouts.search.value_tree import Roll

__all__ = ["Search", "TEMPERATURE", "mcts_star", "search_strategy", "value_model"]

Search = Literal["tree", "samples"]

ITERATIONS = 32
"""Most iterations of a search; the number of tokens ends it before."""
TEMPERATURE = 0.7
"""Temperature of searches in the released code."""


def value_model(*, epochs: int = 3) -> RewardModel:
    """Make the value model V: a copy of the policy with a head, fitted to values of turns by squared error.

        L = mean of (V(prefix) - v)^2

    Args:
        epochs: passes over the data of a fit.

    Example:
        V = 0.5 at targets 1/3 and 1: (1/36 + 1/4) / 2 = 0.1389

    Paper: arXiv:2406.03816 (ReST-MCTS*), training of the value model.
    Differs: the head has no sigmoid, so that values leave [0, 1] by errors.
    Unconfirmed: whether the paper's head has a sigmoid.
    """
    loss = losses.preference.label_regression(labels=("correct",))
    return judges.reward_model(
        reads="turns", loss=loss, batch_size=4, fit_epochs=epochs, learning_rate=1e-3, learns=False
    )


def mcts_star(*, judge: StepJudge, tokens: int, max_turns: int, gate: float = 0.9) -> Rollout:
    """Make MCTS*: three children an expansion, rolled turns of the best child with weight 0.5, and the end gate.

    Args:
        judge: value model.
        tokens: sampled tokens of a search.
        max_turns: of a trajectory.
        gate: least value that ends the search; 0.9 in the released code.

    Returns:
        A rollout strategy, see `value_search`.

    Example:
        mcts_star(judge=value_model(), tokens=256, max_turns=8) with `group_size=1`: a group is a tree

    Paper: arXiv:2406.03816 (ReST-MCTS*), as in its released code: branch 3, roll_forward_steps 3, alpha 0.5, c 0.7.
    Differs: an unfinished answer is played to its end; the code asks the policy for a summary. A rollout ends as the
    environment ends it, without a self-critique.
    """
    return rollouts.search.value_search(
        judge=judge,
        select=value_uct(),
        back_up=rollouts.search.visit_mean(),
        children=3,
        distinct=True,
        roll=Roll(turns=3, weight=0.5),
        gate=gate,
        iterations=ITERATIONS,
        tokens=tokens,
        max_turns=max_turns,
    )


def search_strategy(name: Search, *, judge: StepJudge, tokens: int, max_turns: int) -> Rollout:
    """Return the search that finds training data.

    Args:
        name: "tree" for MCTS* without an end gate, "samples" for independent rollouts, as in ReST-EM.
        judge: value model of MCTS*.
        tokens: sampled tokens of a task.
        max_turns: of a trajectory.

    Raises:
        InputError: another name.

    Example:
        search_strategy("samples", judge=judge, tokens=200, max_turns=8): four rollouts of 55 tokens

    Paper: arXiv:2406.03816 (ReST-MCTS*), self-training compared with ReST-EM.
    Differs: both have the same number of tokens. The released code searches for data without an end, too, and expands
    no leaf with a value above the gate.
    """
    if name not in ("tree", "samples"):
        raise InputError(f"search is 'tree' or 'samples', not {name!r}")
    if name == "tree":
        return mcts_star(judge=judge, tokens=tokens, max_turns=max_turns, gate=float("inf"))
    return rollouts.search.best_of(tokens=tokens, max_turns=max_turns)
