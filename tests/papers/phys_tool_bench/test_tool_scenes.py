import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("minigrid")
pytest.importorskip("PIL")

from handaxe.papers.phys_tool_bench.tool_scenes import LEVELS, NONE, Thing, _split, draw_scene, tool_scenes  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = tool_scenes()
TASKS = WORLD.tasks("train", 60, 0) + WORLD.tasks("test", 60, 0)


def things(task):
    return [Thing(*one) for one in task.metadata["things"]]


def answered(task, text):
    return demonstrate(WORLD.env(()), task, lambda _, facts: Message("assistant", text), format=FORMAT)


def by_rule(task):
    """The answer that follows from the scene and the question alone."""
    door, *others = things(task)
    assert door.kind == "door"
    keys = [one for one in others if one.kind == "key"]
    if task.messages[0].content.startswith("key?"):
        fitting = keys
    else:
        fitting = [one for one in keys if one.colour == door.colour]
        fitting += [one for one in others if one.kind == "box" and one.colour == door.colour]
    assert len(fitting) < 2
    return f"{fitting[0].x} {fitting[0].y}" if fitting else NONE


def test_answers_follow_from_the_scene():
    for task in TASKS:
        assert task.answer == by_rule(task)
        assert len({(one.x, one.y) for one in things(task)}) == len(things(task)) == 4
        one = demonstrate(WORLD.env(()), task, WORLD.expert, format=FORMAT)
        assert WORLD.correct(Group(task, (one,))).outcome[0] == 1
    assert {task.metadata["level"] for task in TASKS} == set(LEVELS)


def test_the_question_does_not_tell_the_level():
    asked = {task.metadata["level"]: task.messages[0].content for task in TASKS}
    assert asked.pop("recognition") == "key?\ufffc" and set(asked.values()) == {"open?\ufffc"}


def test_the_image_shows_every_object_on_its_tile():
    for task in TASKS[:8]:
        (image,) = task.messages[0].images
        assert image == draw_scene(things(task)) and image.pixels.shape == (32, 32, 3)
        colourful = np.ptp(image.pixels.reshape(4, 8, 4, 8, 3).astype(int), axis=4).max((1, 3))
        assert {(x, y) for y, x in np.argwhere(colourful > 60)} == {(one.x, one.y) for one in things(task)}


def test_no_pair_of_places_is_in_both_splits():
    for task in TASKS:
        assert _split(things(task)) == task.id.split("-")[2]


def test_misfit_counts_named_objects_where_none_fits():
    gauge = WORLD.gauges["misfit"]
    absent = next(task for task in TASKS if task.metadata["level"] == "availability")
    other = next(task for task in TASKS if task.metadata["level"] == "attribute")
    found = [(gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for one in (answered(absent, "1 2"), answered(absent, NONE))]
    assert found == [(1, 1), (0, 1)] and gauge.bottom(answered(other, "1 2"), 0.0) == 0


def test_invalid_arguments_raise():
    for levels in ((), ("use",)):
        with pytest.raises(InputError, match="levels are some of"):
            tool_scenes(levels=levels)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)
