import pytest

from handaxe.papers.sport.drawing_pairs import drawing_pairs
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
