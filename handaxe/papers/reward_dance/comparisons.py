"""Questions about two drawings of one request: is the candidate better than the reference?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from handaxe.core.images import Image
from handaxe.core.records import Message, Task
from handaxe.judges.drawing_pairs import drawing_message, drawing_words, with_error
from handaxe.judges.viewed import PreferredMessage, request_message
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.canvas.canvas import SHOWN, wanted_clauses
from handaxe.worlds.canvas.drawing import Items, draw_program, paint_items
from handaxe.worlds.canvas.request import fidelity

__all__ = [
    "ComparedDrawings",
    "Context",
    "NO",
    "YES",
    "comparison_message",
    "comparison_pairs",
    "comparisons",
    "lesson",
    "rough_drawings",
]

YES, NO = "yes", "no"
ERRORS = 2
"""Most errors of a drawing."""
Context = Literal["none", "reference", "chain"]


class ComparedDrawings(NamedTuple):
    """Two drawings of a request with unequal fidelities."""

    task: Task
    reference: Items
    candidate: Items

    @property
    def better(self) -> bool:
        """True if the candidate is closer to the request."""
        clauses = wanted_clauses(self.task)
        return fidelity(self.candidate, clauses) > fidelity(self.reference, clauses)

    @property
    def pair(self) -> PreferredMessage:
        """The same preference for a model that scores one image."""
        order = (self.candidate, self.reference) if self.better else (self.reference, self.candidate)
        chosen, rejected = (drawing_message(self.task, items) for items in order)
        return PreferredMessage(chosen, rejected)


def comparison_message(task: Task, candidate: Image | None, reference: Image | None = None) -> Message:
    """Write the question about a candidate, beside a reference or alone.

    Example:
        "draw red disc at 2 4", a line with the reference, a line with the candidate, "better?"
    """
    shown = [part for image in (reference, candidate) if image is not None for part in (image, "\n")]
    return Message.of("user", request_message(task, None).content, *shown, "better?")


def comparisons(tasks: Sequence[Task], *, seed: int = 0) -> list[ComparedDrawings]:
    """Draw two drawings of each request, with errors, and compare them in both orders unless their fidelity is equal.

    Example:
        a blue disc as the reference and a red one as the candidate of "draw red disc at 2 4": the candidate is better;
        then the other way round, and it is not

    Paper: arXiv:2509.08826 (RewardDance), training data of comparisons.
    Differs: errors are drawn, and the order is that of the fidelity, known by construction.
    """
    made = list[ComparedDrawings]()
    for number, task in enumerate(tasks):
        first, second = rough_drawings(task, 2, random.Random(derive_seed("comparisons", seed, number)))
        clauses = wanted_clauses(task)
        if fidelity(first, clauses) != fidelity(second, clauses):
            made += [ComparedDrawings(task, first, second), ComparedDrawings(task, second, first)]
    return made


def comparison_pairs(tasks: Sequence[Task], *, seed: int = 0) -> list[PreferredMessage]:
    """Return the preferences of `comparisons`, each once, for a model that scores one image.

    Example:
        a blue disc as the reference and a red one as the candidate of "draw red disc at 2 4": the red one is chosen
    """
    return [one.pair for one in comparisons(tasks, seed=seed)[::2]]


def rough_drawings(task: Task, count: int, rng: random.Random) -> list[Items]:
    """Draw a request several times, each with 0 to 2 errors.

    Example:
        count 2: a red disc as requested, and a blue disc elsewhere
    """
    good, made = draw_program(task.metadata["program"], ()), list[Items]()
    for _ in range(count):
        items = good
        for _ in range(rng.randint(0, ERRORS)):
            items = with_error(items, rng, ("colour", "place"))
        made.append(items)
    return made


def lesson(one: ComparedDrawings, context: Context) -> list[Message]:
    """Return question and answer for supervised fine-tuning.

        none        the candidate alone;  "yes" or "no"
        reference   reference and candidate;  "yes" or "no"
        chain       reference and candidate;  the objects of both in words, then "yes" or "no"

    Example:
        chain: "blue disc 2 4 / red disc 2 4 yes"

    Paper: arXiv:2509.08826 (RewardDance), context: reference images and chains of thought.
    Unconfirmed: the content of a chain.
    Differs: criteria of the task are missing, and the question is one word. The paper has chains before and after the
        verdict.
    """
    candidate, reference = (paint_items(items, SHOWN) for items in (one.candidate, one.reference))
    chain = f"{drawing_words(one.reference)} / {drawing_words(one.candidate)} "
    forms = {"none": (None, ""), "reference": (reference, ""), "chain": (reference, chain)}
    shown, reasons = forms[context]
    answer = reasons + (YES if one.better else NO)
    return [comparison_message(one.task, candidate, shown), Message("assistant", answer)]
