import random

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.images import message_images
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.mistakes import add_mistakes

pytest.importorskip("skimage")
pytest.importorskip("PIL")

from handaxe.worlds.slides.scene import UNIT, segment_slide, slide_image  # noqa: E402
from handaxe.worlds.slides.world import (  # noqa: E402
    _slide,
    answer_iou,
    look_iou,
    mask_dice,
    other_look,
    slides,
)

FORMAT = Compact(TinyImageProcessor(8))
WORLD = slides()
TASKS = WORLD.tasks("train", 40, 0)


def task_of(kind="box", ring=None):
    def fits(task):
        return task.metadata["kind"] == kind and ring in (None, not all(one.solid for one in _slide(task).structures))

    return next(task for task in TASKS if fits(task))


def played(task, expert=None):
    return demonstrate(WORLD.env(()), task, expert or WORLD.expert, format=FORMAT)


def acting(*calls, answer):
    """A policy with these (tool, box), one a turn, and then an answer."""

    def expert(task, facts):
        if facts["turn"] < len(calls):
            name, box = calls[facts["turn"]]
            return Message("assistant", "", (ToolCall(name, {"box": box}),))
        return Message("assistant", answer)

    return expert


def gold(task):
    return " ".join(map(str, task.metadata["gold"]))


def elsewhere(task):
    left, top, *_ = task.metadata["gold"]
    return next(f"{x} {y} {x + 2} {y + 2}" for y in (0, 2) for x in (0, 2, 4) if (x, y) != (left, top))


def score(reward, one):
    return reward(Group(one.task, (one,))).outcome[0]


def gauge(name, one):
    return WORLD.gauges[name].top(one, 0.0), WORLD.gauges[name].bottom(one, 0.0)


def test_the_expert_segments_or_measures_and_repeats_the_reply():
    for kind, name in (("box", "segment"), ("area", "measure")):
        one = played(task_of(kind))
        assert one.calls[-1].name == name and one.calls[-1].arguments == {"box": gold(one.task)}
        assert (
            score(WORLD.correct, one) == 1
            and one.final_text.split() == one.replies[-1].content.split("\ufffc")[0].split()
        )
    place = played(task_of("at"))
    assert not place.calls and place.final_text == " ".join(map(str, place.task.metadata["gold"][:2]))


def test_tools_show_the_part_the_mask_and_the_area():
    task = task_of("box")
    slide, box = _slide(task), tuple(task.metadata["gold"])
    one = played(task, acting(("zoom", gold(task)), ("segment", gold(task)), ("measure", gold(task)), answer="1"))
    zoom, mask = (reply.images[0] for reply in one.replies[:2])
    left, top, right, bottom = (UNIT * side for side in box)
    assert zoom == slide_image(slide).crop((left, top, right, bottom), longest=32)
    found = segment_slide(slide, box)
    assert one.replies[1].content.startswith(" ".join(map(str, found.box)))
    assert abs(mask.pixels.mean() / 255 - found.area / 4096) < 0.02 and one.replies[2].content == str(found.area)
    assert len(message_images(one.messages)) == 3


BAD = ["4 4 2 6", "0 0 9 8", "1 2 3", "nan 0 1 1", "", "-1 0 2 2"]


@pytest.mark.parametrize("box", BAD)
def test_invalid_boxes_are_rejected_and_are_no_looks(box):
    one = played(task_of(), acting(("zoom", box), ("segment", box), ("measure", box), answer="1"))
    assert [reply.status for reply in one.replies] == ["retry"] * 3 and gauge("looked", one) == (0, 1)


def test_boxes_areas_and_places_are_scored():
    task = task_of("box")
    left, top, right, bottom = _slide(task).structures[0].box
    half = f"{left} {top} {left + (right - left) // 2} {bottom}"
    third = f"{left} {top} {left + (right - left) // 3} {bottom}"
    for answer, correct in ((task.answer, 1), (half, (right - left) % 2 == 0), (third, 0), ("no", 0), ("9 9 9 9", 0)):
        one = played(task, acting(answer=answer))
        assert score(WORLD.correct, one) == correct
    assert score(answer_iou, played(task, acting(answer=third))) == pytest.approx(
        ((right - left) // 3) / (right - left)
    )
    task = task_of("area")
    area = int(task.answer)
    near, far = str(round(1.19 * area)), str(round(1.22 * area))
    for answer, correct in ((str(area), 1), (near, 1), (far, 0), ("x", 0), ("1" * 9, 0)):
        assert score(WORLD.correct, played(task, acting(answer=answer))) == correct


def test_the_last_look_and_the_last_mask_count():
    task = task_of("area")
    one = played(task, acting(("measure", gold(task)), ("zoom", elsewhere(task)), answer="1"))
    assert score(look_iou, one) == 0 and score(mask_dice, one) >= 0.9
    assert gauge("dice", one)[0] == score(mask_dice, one) and gauge("corrected", one) == (0, 0)
    other = played(task, acting(("zoom", elsewhere(task)), ("segment", gold(task)), answer="1"))
    assert score(look_iou, other) == 1 and gauge("corrected", other) == (1, 1)
    again = played(task, acting(("zoom", elsewhere(task)), ("segment", elsewhere(task)), answer="1"))
    assert gauge("corrected", again) == (0, 1)
    single = played(task, acting(("zoom", elsewhere(task)), answer="1"))
    assert gauge("corrected", single) == (0, 1) and score(mask_dice, single) == 0
    blind = played(task, acting(answer="1"))
    assert score(look_iou, blind) == 0 and gauge("corrected", blind) == (0, 0) and gauge("iou", blind) == (0, 1)


def test_a_mistake_is_a_zoom_to_another_cell_and_is_corrected():
    task = task_of("box")
    expert = add_mistakes(WORLD.expert, wrong=other_look)
    one = played(task, expert)
    right = played(task)
    assert one.calls[0].name == "zoom" and one.calls[0].arguments["box"] != gold(task)
    assert [dict(call.arguments) for call in one.calls[1:]] == [dict(call.arguments) for call in right.calls]
    assert score(WORLD.correct, one) == 1 and gauge("corrected", one) == (1, 1)
    assert other_look(task, ToolCall("calculator", {}), random.Random(0)) is None
    task = task_of("box", ring=True)
    ring = next(one for one in _slide(task).structures if not one.solid)
    looks = {str(other_look(task, ToolCall("zoom", {}), random.Random(k)).arguments["box"]) for k in range(5)}
    assert looks == {" ".join(map(str, ring.cell))}


def test_shares_of_questions_and_rings():
    tasks = slides(needed=0.5, rings=0.2).tasks("train", 150, 1)
    kinds = [task.metadata["kind"] for task in tasks]
    assert kinds.count("at") / 150 == pytest.approx(0.5, abs=0.12)
    rings = [len(_slide(task).structures) == 4 for task in tasks if task.metadata["kind"] != "at"]
    assert np.mean(rings) == pytest.approx(0.2, abs=0.12)
    assert all(len(_slide(task).structures) == 3 for task in tasks if task.metadata["kind"] == "at")


def test_invalid_arguments_raise():
    for options in ({"needed": 2}, {"rings": -0.1}):
        with pytest.raises(InputError, match="of 0 to 1"):
            slides(**options)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)

    @tool
    def zoom(box: str) -> str:
        """Zoom."""
        return box

    with pytest.raises(ToolDefinitionError, match="zoom"):
        WORLD.env([zoom])
