"""How many of the library's questions are answered without search, the more is said by facts instead of by name."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from handaxe.core.errors import InputError
from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.library import tasks as library_tasks
from handaxe.worlds.library.obscured import library_questions, obscured_tasks, question_of
from handaxe.worlds.library.obscured_questions import ObscuredQuestions, Question, by_heart
from handaxe.worlds.library.world import library

__all__ = ["answers_in_documents", "shares_of_questions"]

SIZE = 400
HOPS = (1, 2)
VALUE = re.compile(r"(?P<label>[a-z ]+?) is (?:between (?P<low>\d+) and (?P<high>\d+)|(?P<value>the \w+ whose .*|\w+))")


def shares_of_questions(*, known: float, count: int, injections: int) -> Callable[[int], Mapping[str, float]]:
    """Count, over questions of one and two hops that take so many injections, and over those after a blur.

        direct_k   share that somebody answers rightly without search, after k injections; the same questions each time
        least_fall least of direct_k - direct_(k+1)
        direct_number, direct_blurred   the same of questions with one injection that says a number, and of these after
                   a blur
        unique     share of all these that the documents, read anew, give one answer for, the right one
        found      share of described entities that are shown by the search that the task keeps for them

    Args:
        known: share of facts that this somebody has by heart, each or not by a draw (`by_heart`), and follows rightly.
        count: questions.
        injections: most of one question, >= 1.

    Returns:
        (seed of the questions and of what is known by heart) -> figures.

    Raises:
        InputError: count or injections below 1.
    """
    if min(count, injections) < 1:
        raise InputError(f"direct answers take a count and injections of 1 or more, not {count} and {injections}")

    def measure(seed: int) -> dict[str, float]:
        questions = library_questions(world=0, size=SIZE)
        direct = by_heart(questions, share=known, seed=seed)
        asked = library_tasks.tasks(count=8 * count, seed=seed, hops=HOPS, size=SIZE)
        plain = [question_of(task, questions) for task in asked]
        deepened = [found for one in plain if (found := _deepened(questions, one, injections, seed))][:count]
        blurred = [found for one in plain if (found := _blurred(questions, one, seed))][:count]
        shares = [_share(direct, level) for level in zip(*deepened, strict=True)]
        texts = [(one.words, one.answer) for row in (*deepened, *blurred) for one in row]
        number, vague = zip(*blurred, strict=True)
        return {
            "questions": float(len(deepened)),
            **{f"direct_{k}": share for k, share in enumerate(shares)},
            "least_fall": min(before - after for before, after in pairwise(shares)),
            "direct_number": _share(direct, number),
            "direct_blurred": _share(direct, vague),
            "unique": sum(answers_in_documents(words) == {answer} for words, answer in texts) / len(texts),
            "found": _found(count, seed, injections),
        }

    return measure


def answers_in_documents(words: str) -> set[str]:
    """All answers that the library's documents give to a question, such as "the river of the town whose mayor is kemi":
    text is compared with text, and nothing is known of how the question was made."""
    path = []
    facts = _read_documents()
    while found := re.match(r"the ([a-z ]+?) of (.*)", words):
        if " whose " in found[1]:
            break
        path.append(found[1])
        words = found[2]
    reached = _described(words, facts)
    for label in reversed(path):
        reached = {facts[name][label] for name in reached if label in facts[name]}
    return reached


def _described(words: str, facts: Mapping[str, Mapping[str, str]]) -> set[str]:
    kind, whose, rest = words.removeprefix("the ").partition(" whose ")
    if not whose:
        return {words}
    found = {name for name, own in facts.items() if own["kind"] == kind}
    while rest:
        said = VALUE.match(rest)
        if said is None:
            raise InputError(f"this is no question about the library: {rest!r}")
        label, value = said["label"], said["value"]
        rest = rest[said.end() :].removeprefix(" and whose ")
        if said["high"]:
            between = range(int(said["low"]), int(said["high"]) + 1)
            found = {name for name in found if int(facts[name][label]) in between}
        else:
            wanted = _described(value, facts)
            found = {name for name in found if facts[name][label] in wanted}
    return found


@functools.cache
def _read_documents() -> dict[str, dict[str, str]]:
    out = {}
    for document in library_tasks.documents(size=SIZE):
        if kind := re.match(rf"{document['id']} is a (\w+)[,.]", document["text"]):
            own = re.findall(r"([a-z]+(?: [a-z]+)*): (\w+)\.", document["text"])
            out[document["id"]] = {"kind": kind[1], **dict(own)}
    return out


def _deepened(questions: ObscuredQuestions, plain: Question, most: int, seed: int) -> list[Question]:
    """A question after 0, 1, ... injections; [] where it does not take so many."""
    rng = random.Random(derive_seed("direct answers", seed, plain.words))
    out = [plain]
    for _ in range(most):
        made = questions.inject(out[-1], rng)
        if made is None:
            return []
        out.append(made)
    return out


def _blurred(questions: ObscuredQuestions, plain: Question, seed: int) -> list[Question]:
    rng = random.Random(derive_seed("direct answers, blurred", seed, plain.words))
    number = questions.inject(plain, rng, numbers=True)
    made = questions.blur(number, rng) if number else None
    return [number, made] if number and made else []


def _share(direct: Callable[[Question], bool], asked: Sequence[Question]) -> float:
    return sum(map(direct, asked)) / len(asked)


def _found(count: int, seed: int, injections: int) -> float:
    """Of the entities that questions describe, the share shown by the searches that tasks keep for them."""
    (tool,) = library(size=SIZE).tools
    shown = []
    for blurs in (0, 1):
        for task in obscured_tasks(
            count=count,
            seed=seed,
            split="test",
            hops=HOPS,
            world=0,
            size=SIZE,
            injections=range(1, injections + 1),
            blurs=blurs,
            known=0.0,
        ):
            shown += [f"[{name}]" in tool(**call) for name, call in _searches(task)]
    return sum(shown) / len(shown)


def _searches(task: Task) -> list[tuple[str, dict]]:
    pairs = zip(task.metadata["gold_documents"], task.metadata["gold_calls"], strict=True)
    return [(name, call["arguments"]) for name, call in pairs if "k" in call["arguments"]]
