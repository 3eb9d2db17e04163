import random

import pytest

from handaxe.core.errors import InputError
from handaxe.judges.drawing_pairs import drawing_pairs, with_error
from handaxe.worlds.canvas.canvas import SHOWN, canvas, task_items, wanted_clauses
from handaxe.worlds.canvas.drawing import draw_program, paint_items
from handaxe.worlds.canvas.request import fidelity

pytest.importorskip("PIL")


@pytest.mark.parametrize("options", [{"changes": 0.0}, {"changes": 1.0}, {"objects": 3, "changes": 0.0}])
def test_the_better_drawing_is_the_requested_one(options):
    tasks = canvas(**options).tasks("train", 20, 0)
    pairs = drawing_pairs(tasks)
    assert len(pairs) == 20
    for task, pair in zip(tasks, pairs, strict=True):
        good = draw_program(task.metadata["program"], task_items(task))
        assert fidelity(good, wanted_clauses(task)) == 1
        assert pair.chosen.images == (paint_items(good, SHOWN),) and pair.chosen.images != pair.rejected.images
        assert pair.chosen.content == pair.rejected.content and 0 < pair.strength <= 1


def test_every_kind_of_error_occurs_and_places_of_counted_objects_are_none():
    task = canvas(changes=0.0).tasks("train", 1, 0)[0]
    strengths = {round(pair.strength, 6) for pair in drawing_pairs([task] * 40)}
    assert strengths == {round(1 / 3, 6), 1.0}  # a wrong colour or place, and nothing drawn
    counted = canvas(changes=0.0, counts=1.0).tasks("train", 40, 0)
    assert 20 < len(drawing_pairs(counted)) < 40


def test_a_seed_gives_the_same_pairs_and_another_seed_others():
    tasks = canvas().tasks("train", 10, 0)
    assert drawing_pairs(tasks) == drawing_pairs(tasks) != drawing_pairs(tasks, seed=1)


def test_text_only_pairs_have_the_same_drawings_in_words():
    tasks = canvas(changes=0.0).tasks("train", 20, 0)
    for task, image, words in zip(tasks, drawing_pairs(tasks), drawing_pairs(tasks, shown="words"), strict=True):
        assert not words.chosen.images and words.strength == image.strength
        assert words.chosen.content == f"{task.messages[-1].content}\n{task.metadata['program']}"
        assert words.rejected.content != words.chosen.content


def test_an_extra_object_is_an_error_and_a_blank_canvas_stays_blank():
    task = canvas(changes=0.0, objects=2).tasks("train", 1, 0)[0]
    (pair,) = drawing_pairs([task], shown="words", errors=("extra",))
    assert pair.rejected.content.count(";") == pair.chosen.content.count(";") + 1
    assert pair.strength == pytest.approx(1 / 3, abs=1e-9)
    assert with_error((), random.Random(0)) == ()


@pytest.mark.parametrize("options", [{"errors": ()}, {"errors": ("size",)}, {"shown": "sound"}])
def test_unknown_options_raise(options):
    with pytest.raises(InputError, match="errors are of colour"):
        drawing_pairs([], **options)
