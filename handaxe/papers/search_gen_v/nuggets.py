"""World of a verifier: which nuggets an answer supports, in part or not at all."""

from __future__ import annotations

import random
from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.search_gen_v.label_agreement import FORMAT, macro_f1, stated_labels
from handaxe.papers.search_gen_v.labels import write_labels
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["MARKS", "SHORT_LABELS", "marks", "nuggets"]

SHORT_LABELS = ("S", "P", "N")
"""Support, partial support and no support, for the tiny policy."""
MARKS = "=x"
"""Equal and other digits, in the verifier's reasoning."""
REQUESTED = {"csv": "c", "pipe_separated": "p", "numbered": "n"}
"""Requested formats, and their names in the prompt."""
FACTS = 2
DIGITS = "1234"
SAME = 0.55
"""Probability that a digit of the answer is the nugget's."""
START = Start(skill=160, steps=0, batch_size=16, learning_rate=2e-3)


def nuggets(*, terse: float = 0.5) -> World:
    """Answers with two facts of two digits, and a rubric of two nuggets; the verifier labels each nugget.

    A nugget is supported (S) if the answer states both of its digits at its place, in part (P) with one of them, and
    else not (N). The verifier quotes each digit of the answer beside that of the nugget, with = or x, before it writes
    the labels in the format of the prompt. A reply is correct if all labels are.

    Args:
        terse: share of the tasks, 0 to 1, for which the expert writes the labels alone, so that a verifier taught by it
            reasons before a part of its labels.

    Returns:
        A world broken down by "format". No answer is in both splits. Gauges: macro_f1 (0 with another number of labels
        than nuggets) and marked (share of replies with correct marks).

    Raises:
        InputError: a share out of range.

    Example:
        "p 34 12" and "  34 14": '<reasoning>33=44= 11=24x</reasoning>S|P'

    Paper: arXiv:2510.14660 (Search-Gen-V), nuggets as rubric and graded labels in a requested format.
    Differs: facts of two digits, short labels, and three of the ten formats.
    """

    if not 0 <= terse <= 1:
        raise InputError(f"terse is {terse}; give a share from 0 to 1")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(terse, split, seed, number) for number in range(count)]

    return World(
        name="nuggets",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: float(stated_labels(one.final_text, SHORT_LABELS) == one.task.answer)),
        breakdown=(FORMAT,),
        is_answer=lambda turn: bool(stated_labels(turn.parsed.text, SHORT_LABELS)),
        expert=_expert,
        start=START,
        start_turns=1,
        gauges={
            "macro_f1": RatioMetric(lambda one, right: _f1(one)),
            "marked": RatioMetric(
                lambda one, right: float(one.final_text.startswith(f"<reasoning>{one.task.metadata['marks']}</"))
            ),
        },
    )


def marks(answer: Sequence[str], rubric: Sequence[str]) -> list[str]:
    """Quote the digits of answer and nugget, place by place, and mark equal ones.

    Example:
        (["34", "12"], ["34", "14"]) -> ["33=44=", "11=24x"]
    """
    pairs = [zip(one, two, strict=True) for one, two in zip(answer, rubric, strict=True)]
    return ["".join(f"{a}{b}{MARKS[a != b]}" for a, b in digits) for digits in pairs]


def _task(terse: float, split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("nuggets", split, seed, number))
    rubric = _draw(rng)
    answer = _vary(rubric, rng)
    while _split(answer) != split:
        rubric = _draw(rng)
        answer = _vary(rubric, rng)
    format = rng.choice(list(REQUESTED))
    found = marks(answer, rubric)
    gold = [SHORT_LABELS[one.count(MARKS[1])] for one in found]
    message = Message("user", f"{REQUESTED[format]} {' '.join(answer)}\n  {' '.join(rubric)}")
    metadata = {FORMAT: format, "marks": " ".join(found), "terse": rng.random() < terse}
    return Task(f"nuggets-{split}-{seed}-{number}", (message,), gold, (), metadata)


def _draw(rng: random.Random) -> list[str]:
    return ["".join(rng.choices(DIGITS, k=2)) for _ in range(FACTS)]


def _vary(rubric: Sequence[str], rng: random.Random) -> list[str]:
    """An answer with each digit of the rubric kept, or drawn among the others."""
    return ["".join(one if rng.random() < SAME else _other(one, rng) for one in nugget) for nugget in rubric]


def _other(digit: str, rng: random.Random) -> str:
    return rng.choice([one for one in DIGITS if one != digit])


def _split(answer: Sequence[str]) -> Split:
    return content_split("nuggets split", *answer)


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    labels = write_labels(task.answer, task.metadata[FORMAT])
    reasoning = "" if task.metadata["terse"] else f"<reasoning>{task.metadata['marks']}</reasoning>"
    return Message("assistant", f"{reasoning}{labels}")


def _f1(one: Trajectory) -> float:
    found = stated_labels(one.final_text, SHORT_LABELS)
    return macro_f1(found, one.task.answer, SHORT_LABELS) if len(found) == len(one.task.answer) else 0.0
