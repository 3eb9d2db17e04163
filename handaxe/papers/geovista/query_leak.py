"""Takes reward from searches that hold the answer already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.papers.geovista.whole_words import holds, words_of
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_answers

__all__ = ["query_leak"]


def query_leak(
    *,
    tools: Collection[str] = ("search",),
    answers: Callable[[Task], Iterable[str]] = gold_answers,
    templates: Sequence[str] = (),
    penalty: float = 0.5,
    floor: float = -2.0,
) -> Reward:
    """Take a penalty for each query that holds the answer, or a phrase that is a guess at it.

        R_i = max(floor, -penalty * number of different queries to `tools` with a leak)

    A query, a text in the arguments of a call however deep, leaks when it holds an answer or a template as whole words
    that follow each other; case, articles and whatever stands between words do not count, so that "Lyon's" and
    "Lyon/Paris" hold Lyon. One that is made again, or fails, counts once.

    Args:
        tools: names of the tools whose queries are looked at.
        answers: what a query must not hold; default the task's answers.
        templates: phrases that it must not hold either, such as landmarks; the paper's code has a list of some 25 and
            one of some 50 well-known cities.
        penalty: for each query, >= 0; 0.5 in the paper's code.
        floor: the least, <= 0; -2 in the paper's code.

    Returns:
        A reward with outcome [G] in [floor, 0]. No call: 0.

    Raises:
        InputError: penalty below 0 or floor above 0; `tools` is a text. TaskError: a task without an answer.

    Example:
        answer Lyon, template "Eiffel Tower"; queries "522228 people", "is it Lyon?", "is it Lyon?", "the eiffel tower"
        -> -1

    Paper: arXiv:2511.15705 (GeoVista), the query penalty of its released code.
    Differs: an answer counts as whole words, so that Nice is not in "nicest"; there are no lists by default.
    """
    if penalty < 0 or floor > 0 or isinstance(tools, str):
        raise InputError(f"penalty is 0 or more, floor 0 or less, tools a list: {penalty}, {floor}, {tools!r}")
    phrases = [words_of(template) for template in templates]

    def score(trajectory: Trajectory) -> float:
        held = [phrase for phrase in (*map(words_of, answers(trajectory.task)), *phrases) if phrase]
        calls = [call for call in trajectory.calls if call.name in tools]
        queries = {words_of(text) for call in calls for text in _texts(call.arguments)}
        leaks = sum(any(holds(query, phrase) for phrase in held) for query in queries)
        return max(floor, -penalty * leaks)

    return outcome(score)


def _texts(value: Any) -> Iterator[str]:
    """Every text within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for own in value.values():
            yield from _texts(own)
    elif isinstance(value, (list, tuple)):
        for own in value:
            yield from _texts(own)
