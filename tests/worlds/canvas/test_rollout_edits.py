import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.canvas.canvas import canvas, task_items
from handaxe.worlds.canvas.drawing import draw_program, paint_items
from handaxe.worlds.canvas.rollout_edits import last_picture, request_of
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))


@pytest.mark.parametrize("changes, kind", [(0.0, "add"), (1.0, "dye")])
def test_the_request_of_a_task_names_place_and_colour(changes, kind):
    task = canvas(changes=changes).tasks("train", 1, 0)[0]
    found = request_of(task)
    after = draw_program(found.words, found.before)
    assert found.kind == kind and found.before == task_items(task)
    assert [one.colour for one in after if (one.left, one.top) == found.place] == [found.colour]


def test_the_last_picture_is_the_last_drawing_or_that_of_the_task():
    world = canvas(changes=1.0, slips=0.0)
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(world.env(()), task, world.expert, format=FORMAT)
    assert last_picture(one) == paint_items(draw_program(request_of(task).words, task_items(task)), 32)
    none = demonstrate(
        world.env(()), task, lambda task, facts: world.expert(task, {**facts, "tools": ()}), format=FORMAT
    )
    assert last_picture(none) == paint_items(task_items(task), 32)
