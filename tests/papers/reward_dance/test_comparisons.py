import random

import pytest

from handaxe.judges.drawing_pairs import drawing_words
from handaxe.papers.reward_dance.comparisons import (
    ComparedDrawings,
    comparison_message,
    comparison_pairs,
    comparisons,
    lesson,
    rough_drawings,
)  # fmt: skip
from handaxe.worlds.canvas.canvas import SHOWN, canvas, wanted_clauses
from handaxe.worlds.canvas.drawing import Item, draw_program, paint_items
from handaxe.worlds.canvas.request import fidelity

pytest.importorskip("PIL")
WORLD = canvas(changes=0.0)
TASKS = WORLD.tasks("train", 40, 0)


def by_hand():
    task = TASKS[0]
    good = draw_program(task.metadata["program"], ())
    other = "blue" if good[0].colour != "blue" else "red"
    return task, good, (Item(other, good[0].shape, good[0].left, good[0].top),)


def test_the_better_side_is_the_candidate_or_the_reference():
    task, good, bad = by_hand()
    for reference, candidate, better in ((bad, good, True), (good, bad, False)):
        one = ComparedDrawings(task, reference, candidate)
        assert one.better is better
        assert one.pair.chosen.images == (paint_items(good, SHOWN),)
        assert one.pair.rejected.images == (paint_items(bad, SHOWN),)


@pytest.mark.parametrize("context, images, reasons", [("none", 1, False), ("reference", 2, False), ("chain", 2, True)])
def test_lessons_show_and_write_what_the_context_has(context, images, reasons):
    task, good, bad = by_hand()
    question, answer = lesson(ComparedDrawings(task, bad, good), context)
    assert len(question.images) == images and question.images[-1] == paint_items(good, SHOWN)
    assert question.content.startswith(task.messages[-1].content) and question.content.endswith("better?")
    chain = f"{drawing_words(bad)} / {drawing_words(good)} " if reasons else ""
    assert answer.content == f"{chain}yes"
    assert lesson(ComparedDrawings(task, good, bad), context)[1].content.endswith("no")


def test_comparisons_have_unequal_fidelities_and_both_answers():
    made = comparisons(TASKS)
    assert 20 < len(made) < 80
    assert [one.better for one in made[::2]] == [not one.better for one in made[1::2]]
    assert {one.better for one in made[::2]} == {True, False}
    for one in made:
        clauses = wanted_clauses(one.task)
        assert fidelity(one.reference, clauses) != fidelity(one.candidate, clauses)
    assert comparison_pairs(TASKS) == [one.pair for one in made[::2]]


def test_rough_drawings_have_at_most_two_errors_and_one_object():
    made = rough_drawings(TASKS[0], 60, random.Random(0))
    assert {len(one) for one in made} == {1}
    assert {round(3 * fidelity(one, wanted_clauses(TASKS[0]))) for one in made} == {1, 2, 3}


def test_a_question_without_images_is_words_alone():
    assert comparison_message(TASKS[0], None).content == f"{TASKS[0].messages[-1].content}\nbetter?"
