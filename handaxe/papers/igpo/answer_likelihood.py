"""Rollout that measures the likelihood of the gold answer before every turn."""

from collections.abc import Callable, Generator, Sequence
from math import exp
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, Task
from handaxe.core.requests import Attempt, Measure
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["answer_likelihood"]


def answer_likelihood(
    *,
    max_turns: int | Rules = 4,
    before: str = "",
    after: str = "",
    answer: Callable[[Task], str] | None = None,
    note: str = "answer_likelihood",
) -> Rollout:
    """Play like `linear`, and measure the policy's likelihood of the gold answer before every turn.

        p_k = exp( 1/J * sum_j log pi(a_j | everything up to turn k, before, a_<j) )        k = 0, 1, ...

    a_1 .. a_J are the answer's tokens in a turn with the text before + answer + after; tokens of `before` and `after`
    and the stop id are not counted. pi is the rollout policy at temperature 1. The measured turn is not part of the
    trajectory: it is neither read, recorded nor trained.

    The trajectory's notes hold p_0 .. p_n: one before each turn that started, and one more if the rollout ended without
    a further turn. If the answer does not fit the context, p keeps its last value (0 at first).

    Args:
        max_turns: turns or `Rules`, as for `linear`.
        before, after: text around the answer, such as "<answer>" and "</answer>".
        answer: task -> text of the answer; by default str(task.answer), or that of the first answer of several.
        note: key of the likelihoods in the notes; `papers.igpo.information_gain` reads it.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. The engine must support
        `measure`.

    Raises:
        InputError: a limit out of range, and errors of an environment that rejects the task.
        TaskError: a task without an answer.

    Example:
        log-probs of the answer's tokens with means -2, -1 and -0.75 before turns 0, 1 and 2: 0.1353, 0.3679, 0.4724

    Paper: arXiv:2510.14967 (IGPO), p of the information gain. Differs: nothing.
    """
    rules = Rules.of(max_turns)
    answer_of = answer or _first

    def rollout(attempt: Attempt) -> RolloutPlan:
        play, likelihoods = Play(attempt, rules), list[float]()
        play.notes[note] = likelihoods

        def turns() -> Generator[Request, Any, Ending]:
            while True:
                words = (before, answer_of(attempt.task), after)
                likelihoods.append((yield from _likelihood(play, words, likelihoods)))
                if (ending := (yield from play.turn())) is not None:
                    return ending

        return [(yield from play.run(turns()))]

    return rollout


def _first(task: Task) -> str:
    given = task.answer
    if given is None or given in ("", [], ()):
        raise TaskError(f"task {task.id!r} has no answer, so that its likelihood cannot be measured")
    return str(given[0] if isinstance(given, list | tuple) and given else given)


def _likelihood(play: Play, words: tuple[str, str, str], likelihoods: list[float]) -> Generator[Request, Any, float]:
    """p of the next turn; the last value if the answer does not fit."""
    before, answer, after = words
    opening, format = play.sequences[-1].ids[:], play.attempt.format
    turn = format.encode_turn(Message("assistant", before + answer + after), play.tools)
    start = _common_prefix(turn, format.encode_turn(Message("assistant", before), play.tools))
    ending = format.encode_turn(Message("assistant", after), play.tools)
    stop = len(turn) - _common_prefix(turn[:start:-1], ending[::-1])
    ids = [*opening, *turn[:stop]]
    if len(ids) > play.attempt.context:
        return likelihoods[-1] if likelihoods else 0.0
    result = yield from play.measure(Measure(ids, len(opening) + start))
    return exp(sum(result["logp"]) / (stop - start))


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids two lists begin alike with."""
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
