"""Two questions about an edit, and a teacher's answers."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.images import Image
from handaxe.worlds.canvas.edits import EditedDrawing, EditRequest

__all__ = ["EditQuestion", "GRADES", "edit_questions", "teacher_grades", "write_grades"]

GRADES = {"semantic": 2, "quality": 1}
"""Question -> grades of an answer."""


class EditQuestion(NamedTuple):
    """A question to a grader.

    about    "semantic" asks for the grades of following the instruction and of keeping the rest, "quality" for the
             grade of perceptual quality
    image    picture after the edit
    request  instruction and picture before
    """

    about: Literal["semantic", "quality"]
    image: Image
    request: EditRequest


def edit_questions(image: Image, request: EditRequest) -> tuple[EditQuestion, EditQuestion]:
    """Make the semantic question and the quality question about an edit.

    Example:
        an image and its request  ->  questions with about "semantic" and "quality", both of this image and request

    Paper: EditScore (paper 63), a call for semantic consistency and a call for perceptual quality.
    Differs: nothing known.
    """
    return EditQuestion("semantic", image, request), EditQuestion("quality", image, request)


def teacher_grades(made: EditedDrawing, *, best: int, noise: float, rng: np.random.Generator) -> list[int]:
    """Grade followed, kept and clean, with errors.

        grade = round(best * (quality + noise * e)), clipped to [0, best]       e standard normal, drawn for each grade

    Example:
        qualities 1, 1/2 and 1/2 without noise, best 25  ->  25, 12 and 12
    """
    quality_A = np.array(made.qualities) + noise * rng.standard_normal(len(made.qualities))
    found: list[int] = np.clip(np.round(best * quality_A), 0, best).astype(int).tolist()
    return found


def write_grades(about: str, grades: tuple[int, ...]) -> str:
    """Write the answer to a question from the grades of followed, kept and clean.

    Example:
        grades 20, 15 and 18: "[20, 15]" to the semantic question, "[18]" to the other
    """
    own = grades[: GRADES["semantic"]] if about == "semantic" else grades[GRADES["semantic"] :]
    return str(list(own))
