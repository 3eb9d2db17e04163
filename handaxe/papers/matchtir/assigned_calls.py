"""Turn rewards from a matching of tool calls with reference calls."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory, Turn
from handaxe.rewards.parts.reference import gold_answers, gold_calls, normalise
from handaxe.rewards.per_turn import per_turn

__all__ = ["assigned_calls"]

Assign = Literal["hard", "soft"]


def assigned_calls(
    *,
    assign: Assign = "hard",
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
    answered: Callable[[Turn], bool] | None = None,
    penalty: float = 0.0,
    regularisation: float = 0.1,
    released: bool = False,
) -> Reward:
    """Match all calls of a trajectory with the reference calls, and reward each turn by the mean over its calls.

        S(p, g) = 0 if the names differ in more than case, else (1 + J + V) / (2 + |params(g)|)
        J       = |names(p) & names(g)| / |names(p) | names(g)| of the parameters, 1 if both have none
        V       = number of parameters of g that p has with an equal value
        hard    one to one, the assignment of the largest sum of S:  r_p = S(p, g) if p is matched with S > 0,
                else `penalty`
        soft    r_p = sum_g T_pg S(p, g), T the entropic transport plan of cost -S from 1/P each to 1/G each
        turn k  mean of r_p over its calls;  F1 of its text if it is an answer;  0 if it is neither

    p runs over the P calls of all turns, malformed ones included (S = 0), g over the G reference calls. F1 compares
    sets of words with the best of the task's answers.

    Args:
        assign: "hard" or "soft".
        gold: task -> reference calls. Without any, every call is unmatched (hard) or worth 0 (soft).
        answered: turn -> whether it states an answer; None for worlds of calls alone.
        penalty: reward of an unmatched call under "hard"; 0 in the paper's runs, -0.5 by default in the released code.
        regularisation: of the transport, > 0; 0.1 in the paper.
        released: assign "hard" greedily, the largest S first, as the released code does; the sum may be smaller.

    Returns:
        A reward with outcome [G] of zeros and turn rewards, per trajectory [N].

    Raises:
        InputError: "soft" without the package POT (extra [transport]), a regularisation that is not positive, an
            unknown `assign`, or `released` with "soft".
        TaskError: a turn answers, but the task has no answer.

    Example:
        g = f(a=1, b=2):  f(a=1, b=3) -> (1 + 1 + 1) / 4 = 0.75,  f(a=1) -> (1 + 0.5 + 1) / 4 = 0.625,  h(...) -> 0
        S = ((1, 0.25), (0.25, 1)):  hard -> 1, 1;  soft, regularisation 0.1 -> 0.49979, 0.49979

    Paper: arXiv:2601.10712 (MatchTIR), both assignments.
    Differs: a malformed call counts as a call, and words are normalized as in SQuAD; the paper specifies neither.
    """
    if assign not in ("hard", "soft") or regularisation <= 0 or (released and assign == "soft"):
        raise InputError(
            f"assigned_calls takes assign hard or soft, a positive regularisation, and released with hard alone, not "
            f"{assign!r}, {regularisation}, {released}"
        )
    transport = _transport() if assign == "soft" else None

    def score(trajectory: Trajectory) -> np.ndarray:
        references = gold(trajectory.task)
        worth_N = [[_similarity(call, g) for g in references] for turn in trajectory.turns for call in _calls(turn)]
        similar_PG = np.array(worth_N, np.float64).reshape(len(worth_N), len(references))
        if transport is not None:
            value_P = _soft(similar_PG, transport, regularisation)
        else:
            value_P = _hard(similar_PG, penalty, _greedy if released else _best)
        turn_P = np.repeat(np.arange(len(trajectory.turns)), [len(_calls(turn)) for turn in trajectory.turns])
        return np.array([_turn(turn, value_P[turn_P == k], trajectory.task) for k, turn in enumerate(trajectory.turns)])

    def _turn(turn: Turn, value_P: np.ndarray, task: Task) -> float:
        if answered is not None and answered(turn):
            return max(_shared_words(turn.parsed.text, answer) for answer in gold_answers(task))
        return float(value_P.mean()) if len(value_P) else 0.0

    return per_turn(score)


def _calls(turn: Turn) -> list[ToolCall | None]:
    """Calls of a turn, None for a malformed one."""
    return [*turn.parsed.calls, *[None] * len(turn.parsed.errors)]


def _similarity(p: ToolCall | None, g: ToolCall) -> float:
    if p is None or p.name.lower() != g.name.lower():
        return 0.0
    names, references = set(p.arguments), set(g.arguments)
    overlap = len(names & references) / len(names | references) if names | references else 1.0
    equal = sum(key in p.arguments and p.arguments[key] == value for key, value in g.arguments.items())
    return (1 + overlap + equal) / (2 + len(references))


def _hard(similar_PG: np.ndarray, penalty: float, match: Callable[[np.ndarray], list[tuple[int, int]]]) -> np.ndarray:
    value_P = np.full(len(similar_PG), float(penalty))
    for p, g in match(similar_PG):
        if similar_PG[p, g] > 0:
            value_P[p] = similar_PG[p, g]
    return value_P


def _best(similar_PG: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(*linear_sum_assignment(similar_PG, maximize=True)))


def _greedy(similar_PG: np.ndarray) -> list[tuple[int, int]]:
    pairs = sorted(np.ndindex(similar_PG.shape), key=lambda pair: -similar_PG[pair])
    taken: list[tuple[int, int]] = []
    for p, g in pairs:
        if all(p != other and g != used for other, used in taken):
            taken.append((p, g))
    return taken


def _soft(similar_PG: np.ndarray, transport: Callable[..., Any], regularisation: float) -> np.ndarray:
    made, references = similar_PG.shape
    if not made or not references:
        return np.zeros(made)
    margins = np.full(made, 1 / made), np.full(references, 1 / references)
    # Where a thousand rounds have not brought the margins to the last digit, the plan is good enough to reward by.
    plan = transport(*margins, -similar_PG, regularisation, warn=False)
    return np.asarray((plan * similar_PG).sum(1), np.float64)


def _transport() -> Callable[..., Any]:
    try:
        import ot
    except ImportError as error:
        raise InputError(
            "soft assignment solves a transport problem: pip install 'handaxe[transport]', or assign='hard'"
        ) from error
    return ot.sinkhorn


def _shared_words(answer: str, gold: str) -> float:
    words, references = set(normalise(answer).split()), set(normalise(gold).split())
    shared = len(words & references)
    return 2 * shared / (len(words) + len(references)) if shared else 0.0
