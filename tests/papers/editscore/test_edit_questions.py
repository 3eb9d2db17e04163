import numpy as np
import pytest

from handaxe.papers.editscore.edit_questions import edit_questions, teacher_grades, write_grades
from handaxe.worlds.canvas.edits import edited_pairs

pytest.importorskip("PIL")
MADE = edited_pairs(1, seed=0)[0][0]


def test_an_edit_has_a_semantic_and_a_quality_question():
    found = edit_questions(MADE.image, MADE.request)
    assert [one.about for one in found] == ["semantic", "quality"]
    assert all(one.image is MADE.image and one.request is MADE.request for one in found)


def test_the_teacher_grades_the_qualities():
    half = MADE._replace(followed=1.0, kept=0.5, clean=0.5)
    rng = np.random.default_rng(0)
    assert teacher_grades(half, best=25, noise=0.0, rng=rng) == [25, 12, 12]
    grades = [teacher_grades(half, best=25, noise=0.2, rng=rng) for _ in range(200)]
    assert np.min(grades) >= 0 and np.max(grades) == 25
    assert np.std(grades, axis=0)[1] == pytest.approx(5, abs=1)


def test_answers_have_the_grades_of_their_question():
    assert write_grades("semantic", (20, 15, 18)) == "[20, 15]" and write_grades("quality", (20, 15, 18)) == "[18]"
