"""Share of library questions answered without search, by number of injections.

Example:
    question_shares(known=1.0, count=20, injections=1)(1): direct_0 and direct_1 are 1, least_fall is 0

Paper: arXiv:2508.07976 (ASearcher), the check of synthesized questions for direct answers without search.
"""

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
from handaxe.worlds.library.obscured import library_questions, obscured_tasks, task_question
from handaxe.worlds.library.obscured_questions import (
    ObscuredQuestions,
    Question,
    answerable_from_memory,
    knows_fact,
)
from handaxe.worlds.library.world import library

__all__ = ["answers_in_documents", "question_shares"]

SIZE = 400
HOPS = (1, 2)
VALUE = re.compile(r"(?P<label>[a-z ]+?) is (?:between (?P<low>\d+) and (?P<high>\d+)|(?P<value>the \w+ whose .*|\w+))")


def question_shares(*, known: float, count: int, injections: int) -> Callable[[int], Mapping[str, float]]:
    """Make a study of direct answers to questions of one and two hops, after each injection and after a blur.

        direct_k   share answered correctly without search after k injections; the same questions for all k
        least_fall minimum of direct_k - direct_(k+1)
        direct_number, direct_blurred   the same for questions with one injected number, and for these after a blur
        unique     share of all these questions with exactly one answer in the documents, the correct one
        found      share of described entities that are shown by the search that the task has for them

    Args:
        known: share of facts known by heart, drawn independently (`answerable_from_memory`).
        count: questions.
        injections: most injections of a question, >= 1.

    Returns:
        (seed of the questions and of the known facts) -> figures.

    Raises:
        InputError: count or injections below 1.

    Example:
        question_shares(known=1.0, count=20, injections=1)(1): direct_0 and direct_1 are 1, least_fall is 0
    """
    if min(count, injections) < 1:
        raise InputError(f"direct answers take a count and injections of 1 or more, not {count} and {injections}")

    def measure(seed: int) -> dict[str, float]:
        questions = library_questions(world=0, size=SIZE)
        direct = answerable_from_memory(questions, share=known, seed=seed)
        asked = library_tasks.tasks(count=8 * count, seed=seed, hops=HOPS, size=SIZE)
        plain = [task_question(task, questions) for task in asked]
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


def answers_in_documents(words: str, *, known: float = 1.0, seed: int = 0) -> set[str]:
    """Find all answers of the library's documents to a question, by text comparison alone.

    The question's construction is not used.

    Args:
        words: of the question.
        known: share of the facts that are read, 0 to 1, as those that are known by heart.
        seed: of the known facts.

    Raises:
        InputError: the words are no question about the library.

    Example:
        "the river of the town whose mayor is kemi"  ->  the rivers of all towns with mayor kemi
    """
    path = []
    facts = _known_facts(known, seed)
    while found := re.match(r"the ([a-z ]+?) of (.*)", words):
        if " whose " in found[1]:
            break
        path.append(found[1])
        words = found[2]
    if not path:
        raise InputError(f"not a question about the library: {words!r}")
    reached = _described(words, facts)
    for label in reversed(path):
        reached = {facts[name][label] for name in reached if label in facts.get(name, ())}
    return reached


def _described(words: str, facts: Mapping[str, Mapping[str, str]]) -> set[str]:
    kind, whose, rest = words.removeprefix("the ").partition(" whose ")
    if not whose:
        return {words}
    found = {name for name, own in facts.items() if own["kind"] == kind}
    while rest:
        match = VALUE.match(rest)
        if match is None:
            raise InputError(f"not a question about the library: {rest!r}")
        label, value = match["label"], match["value"]
        rest = rest[match.end() :].removeprefix(" and whose ")
        if match["high"]:
            between = range(int(match["low"]), int(match["high"]) + 1)
            found = {name for name in found if label in facts[name] and int(facts[name][label]) in between}
        else:
            wanted = _described(value, facts)
            found = {name for name in found if facts[name].get(label) in wanted}
    return found


@functools.lru_cache(maxsize=4)
def _known_facts(known: float, seed: int) -> dict[str, dict[str, str]]:
    """The facts of the documents, or a share of them; kinds are always known."""
    every = _read_documents()
    if known >= 1:
        return every
    return {
        name: {key: own[key] for key in own if key == "kind" or knows_fact(known, seed, name, key)}
        for name, own in every.items()
    }


@functools.cache
def _read_documents() -> dict[str, dict[str, str]]:
    out = {}
    for document in library_tasks.library_documents(size=SIZE):
        if kind := re.match(rf"{document['id']} is a (\w+)[,.]", document["text"]):
            own = re.findall(r"([a-z]+(?: [a-z]+)*): (\w+)\.", document["text"])
            out[document["id"]] = {"kind": kind[1], **dict(own)}
    return out


def _deepened(questions: ObscuredQuestions, plain: Question, most: int, seed: int) -> list[Question]:
    """A question after 0, 1, ... injections; [] with fewer than `most`."""
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
    """Share of described entities found by the searches of their tasks."""
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
