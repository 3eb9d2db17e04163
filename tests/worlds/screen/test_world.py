import re

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.screen.layout import difficulty, gold_box, predicted_box
from handaxe.worlds.screen.world import screen

FORMS = ("action", "box", "number", "words")


def played(world, task, says=None):
    return demonstrate(world.env(world.tools), task, says or world.expert, format=Compact(), context=512)


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def saying(content, *calls):
    return lambda task, facts: Message("assistant", content, calls)


@pytest.mark.parametrize("options", [*({"answer": form} for form in FORMS), {"answer": "box", "loose": 0.5}])
def test_screen_keeps_the_world_contract(options):
    check_world(screen(**options), count=20)


def test_actions_are_scored_by_type_place_and_text():
    world, seen = screen(), set()
    for task in world.tasks("train", 30, 0):
        (gold,) = world.reference(task)
        left, low, right_, high = gold_box(task)
        seen.add(gold.name)
        if gold.name == "click":
            for x, y, hit in ((left + 1, low + 1, 1), (right_ - 1, high - 1, 1), (left - 9, low - 9, 0)):
                assert right(world, played(world, task, saying("", ToolCall("click", {"x": x, "y": y})))) == hit
        else:
            assert right(world, played(world, task, saying("", ToolCall("click", {"x": left, "y": low})))) == 0
    assert seen == {"click", "write", "scroll"}


def test_a_rollout_has_one_turn_without_execution():
    world = screen()
    one = played(world, world.tasks("test", 1, 0)[0])
    assert len(one.turns) == 1 and one.replies == [] and one.ending.kind == "completed"


def test_a_box_is_correct_by_its_middle():
    world = screen(answer="box")
    (task,) = world.tasks("train", 1, 0)
    left, low, right_, high = gold_box(task)

    def figures(box):
        one = played(world, task, saying(" ".join(map(str, box))))
        gauges = {name: (gauge.top(one, 1.0), gauge.bottom(one, 1.0)) for name, gauge in world.gauges.items()}
        return right(world, one), gauges

    hit, gauges = figures((left, low, right_, high))
    area = (right_ - left) * (high - low)
    assert hit == 1 and gauges == {"iou": (1, 1), "edges": (1, 1), "size": (area, area)}
    hit, gauges = figures((left + 1, low + 1, right_ - 1, high - 1))
    small = (right_ - left - 2) * (high - low - 2)
    assert hit == 1 and gauges["iou"] == (pytest.approx(small / area), 1) and gauges["size"] == (small, area)
    assert figures((right_, low, left, high))[1]["iou"][0] == 0  # swapped corners
    wrong, gauges = figures(("no", "box"))
    assert wrong == 0 and gauges["iou"] == (0, 1) and gauges["size"] == (0, 0)


def test_loose_boxes_are_correct_with_less_overlap():
    overlap = {}
    for loose in (0.0, 0.3, 0.6):
        world = screen(answer="box", loose=loose)
        attempts = [played(world, task) for task in world.tasks("train", 60, 0)]
        assert all(right(world, one) for one in attempts) and all(predicted_box(one) for one in attempts)
        overlap[loose] = sum(world.gauges["iou"].top(one, 1.0) for one in attempts) / 60
    assert overlap[0.0] == 1 and 0.5 < overlap[0.3] < 0.7 and 0.25 < overlap[0.6] < 0.45


def test_answers_follow_from_the_screens_text():
    for task in screen(answer="number").tasks("test", 10, 0):
        name = re.search(r"width of (\w+)\?", task.messages[0].content)[1]
        left, _, right_, _ = map(
            int, re.search(rf"^{name} (\d+) (\d+) (\d+) (\d+)$", task.messages[0].content, re.M).groups()
        )
        assert task.answer == str(right_ - left) and task.metadata["box"][0] == left
    answers = {task.answer for task in screen(answer="words").tasks("train", 200, 0)}
    assert len(answers) == 18 and "a small box at the top left" in answers


def test_small_targets_have_larger_weights():
    tasks = screen(answer="box").tasks("train", 100, 0)
    weights = {
        size: [difficulty(task) for task in tasks if task.metadata["size"] == size] for size in ("small", "large")
    }
    assert (
        min(weights["small"]) > max(weights["large"]) and 0.5 <= min(weights["large"]) <= max(weights["small"]) <= 1.5
    )


def test_invalid_arguments_raise():
    for options in ({"answer": "voice"}, {"loose": 1.0}, {"loose": -0.1}):
        with pytest.raises(InputError, match="answer is one of"):
            screen(**options)
    with pytest.raises(InputError, match="1 to 6 boxes"):
        screen(boxes=7).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        screen().tasks("train", 0, 0)
