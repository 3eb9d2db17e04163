"""Independent rollouts until a number of tokens is sampled; the best rollout answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, isnan

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import Judge, Rollout, RolloutPlan
from handaxe.core.records import STOPPED, Group, Trajectory
from handaxe.core.requests import Attempt, Work
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.rollouts.search.value_search import CHOSEN

__all__ = ["best_of"]


def best_of(*, judge: Judge | None = None, tokens: int = 256, gate: float | None = None, max_turns: int = 4) -> Rollout:
    """Sample rollouts of a task in sequence until `tokens` tokens are sampled, and answer with the best rollout.

        n rollouts, the smallest n with sum of tokens >= tokens, or with judge(rollout n) >= gate
        answer = argmax_n judge(rollout n), ties to the first

    Args:
        judge: scores rollouts; None: the first rollout answers.
        tokens: sampled tokens of all rollouts, >= 1; the last rollout may exceed the number. At most one rollout a
            token.
        gate: least score of a rollout that ends the sampling; None: the number of tokens alone ends it.
        max_turns: turns of a rollout.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the rollout of the answer, which has
        `notes["search_answer"]`, then the others. One rollout is a whole group: `group_size=1`.

    Raises:
        InputError: tokens below 1.

    Example:
        rollouts of 60, 50 and 70 tokens with scores 0.3, 0.9, 0.4 and tokens=150  ->  the second answers

    Idea: best-of-N at equal tokens, the comparison of arXiv:2406.03816 (ReST-MCTS*).
    """
    if tokens < 1:
        raise InputError(f"best_of has tokens={tokens}; give 1 or more")
    single = linear(max_turns=max_turns)

    def rollout(attempt: Attempt) -> RolloutPlan:
        found: list[Trajectory] = []
        scores: list[float] = []
        spent = 0
        while spent < tokens and len(found) < tokens:
            n = len(found)
            own = attempt if not n else replace(attempt, id=f"{attempt.id}/{n}", seed=derive_seed(attempt.seed, n, "n"))
            (one,) = yield from single(own)
            found.append(one)
            spent += one.usage.tokens
            if one.ending == STOPPED:
                break
            score = 0.0 if judge is None else (yield Work(partial(_score, judge, one)))
            scores.append(score)
            if gate is not None and score >= gate:
                break
        best = scores.index(max(scores)) if scores else None
        noted = [replace(one, notes={**one.notes, CHOSEN: n == best}) for n, one in enumerate(found)]
        return sorted(noted, key=lambda one: not one.notes[CHOSEN])

    return rollout


def _score(judge: Judge, one: Trajectory) -> float:
    """Score of a rollout; without one, such as for a failure of the environment or of the judge, -inf."""
    try:
        score = float(judge.score(Group(one.task, (one,)))[0])
    except (InfrastructureError, VerifierError):
        return -inf
    return -inf if isnan(score) or one.ending.kind == "infra_error" else score
