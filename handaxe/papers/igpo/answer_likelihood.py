"""The plain rollout, which asks after every reply how likely the policy finds the right answer by now."""

from collections.abc import Callable, Generator, Sequence
from math import exp
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, Task
from handaxe.core.requests import Attempt, Measure
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["answer_likelihood"]


def answer_likelihood(
    *,
    max_turns: int = 4,
    before: str = "",
    after: str = "",
    answer: Callable[[Task], str] | None = None,
    note: str = "answer_likelihood",
    budget: Budget | None = None,
    tell_budget: bool | Tell = False,
) -> Rollout:
    """Play like `linear`, and measure before every turn how likely the right answer is.

        p_k = exp( 1/J * sum_j log pi(a_j | everything up to turn k, before, a_<j) )        k = 0, 1, ...

    a_1 .. a_J are the answer's tokens, as the policy would say them in a turn whose text is before + answer + after;
    those of `before` and `after`, and the stop id, are not counted. pi is the policy that plays, at temperature 1. The
    measured turn is not part of the attempt: nothing of it is seen, kept or trained.

    p_0 .. p_n stand in the trajectory's notes: one before each turn that was begun, and another where none followed.
    Where the answer does not fit the context, p stays what it was (0 at first).

    Args:
        max_turns, budget, tell_budget: as in `linear`.
        before, after: what is put around the answer, such as "<answer>" and "</answer>".
        answer: the text of a task's answer; str(task.answer), or of its first one where there are several, unless told
            otherwise.
        note: under which the likelihoods are kept; `papers.igpo.information_gain` reads it.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. It needs an engine that can
        `measure`.

    Raises:
        InputError: a limit out of range, and what an environment raises for a task it cannot take.
        TaskError: a task without an answer.

    Example:
        log-probs of the answer's tokens with means -2, -1 and -0.75 before turns 0, 1 and 2: 0.1353, 0.3679, 0.4724

    Paper: arXiv:2510.14967 (IGPO), equation of the information gain's p. Differs: nothing.
    """
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget)
    said = answer or _first

    def rollout(attempt: Attempt) -> RolloutPlan:
        play, found = Play(attempt, rules), list[float]()
        play.notes[note] = found

        def turns() -> Generator[Request, Any, Ending]:
            while True:
                found.append((yield from _likelihood(play, (before, said(attempt.task), after), found)))
                if (ending := (yield from play.turn())) is not None:
                    return ending

        return [(yield from play.whole(turns()))]

    return rollout


def _first(task: Task) -> str:
    given = task.answer
    if given is None or given in ("", [], ()):
        raise TaskError(f"task {task.id!r} has no answer, so how likely it is cannot be measured")
    return str(given[0] if isinstance(given, list | tuple) and given else given)


def _likelihood(play: Play, words: tuple[str, str, str], found: list[float]) -> Generator[Request, Any, float]:
    """p of the turn that comes next; the last one where the answer does not fit."""
    before, answer, after = words
    opening, format = play.sequences[-1].ids[:], play.attempt.format
    turn = format.encode_turn(Message("assistant", before + answer + after), play.tools)
    start = _alike(turn, format.encode_turn(Message("assistant", before), play.tools))
    stop = len(turn) - _alike(turn[:start:-1], format.encode_turn(Message("assistant", after), play.tools)[::-1])
    ids = [*opening, *turn[:stop]]
    if len(ids) > play.attempt.context:
        return found[-1] if found else 0.0
    measured = yield from play.measure(Measure(ids, len(opening) + start))
    return exp(sum(measured["logp"]) / (stop - start))


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two lists begin alike with."""
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
