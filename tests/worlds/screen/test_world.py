import json

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.screen.widgets import Widget, difficulty, draw_screen, gold_box, predicted_box
from handaxe.worlds.screen.world import screen

pytest.importorskip("PIL")

FORMS = ("action", "click", "box")
TYPES = {"button": "click", "field": "write", "arrow": "scroll"}


def played(world, task, says=None):
    format = Compact(TinyImageProcessor(8))
    return demonstrate(world.env(world.tools), task, says or world.expert, format=format, context=512)


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def saying(content, *calls):
    return lambda task, facts: Message("assistant", content, calls)


def clicked(world, task, x, y):
    return right(world, played(world, task, saying("", ToolCall("click", {"point": f"{x} {y}"}))))


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("options", [*({"answer": form} for form in FORMS), {"answer": "box", "loose": 0.5}])
def test_screen_keeps_the_world_contract(options, told):
    check_world(screen(**options, told=told), count=12)


def test_the_kind_of_the_red_widget_decides_the_action():
    world, seen = screen(), set()
    for task in world.tasks("train", 40, 0):
        (gold,), kind = world.reference(task), task.metadata["kind"]
        seen.add(kind)
        assert gold.name == TYPES[kind] and not (set(task.messages[0].content) & set("0123456789"))
        assert right(world, played(world, task)) == 1
        other = ToolCall("scroll", {"direction": "up"}) if kind != "arrow" else ToolCall("write", {"text": "up"})
        assert right(world, played(world, task, saying("", other))) == 0
    assert seen == set(TYPES)


@pytest.mark.parametrize("answer", ["action", "click"])
def test_a_click_is_correct_on_every_unit_of_the_red_widget_and_on_no_other(answer):
    world = screen(answer=answer)
    tasks = [task for task in world.tasks("test", 12, 0) if world.reference(task)[0].name == "click"]
    for task in tasks[:3]:
        left, top, right_, bottom = gold_box(task)
        for x in range(8):
            for y in range(8):
                assert clicked(world, task, x, y) == (left <= x < right_ and top <= y < bottom)


def test_clicks_are_asked_for_every_kind():
    kinds = {task.metadata["kind"] for task in screen(answer="click").tasks("train", 30, 0)}
    assert kinds == set(TYPES)


def test_the_image_shows_the_widgets_of_the_metadata():
    for task in screen().tasks("test", 8, 3):
        ((question, widgets),) = task.metadata["screens"]
        assert task.messages[0].content == f"{question}\ufffc"
        shown = [Widget(kind, colour, tuple(box), way) for kind, colour, box, way in widgets]
        assert task.messages[0].images == (draw_screen(tuple(shown)),)
        assert list(gold_box(task)) == widgets[0][2]
        assert json.loads(json.dumps(dict(task.metadata))) == task.metadata


def test_told_lists_the_same_widgets_in_words():
    shown, told = (screen(answer="box", told=one).tasks("train", 20, 0) for one in (False, True))
    for one, other in zip(shown, told):
        assert (one.answer, one.metadata) == (other.answer, other.metadata) and not other.messages[0].images
        lines = other.messages[0].content.split("\n")
        assert lines[-1] == "red box?" and len(lines) == 4
        (red,) = (line for line in lines[:-1] if line.startswith("red "))
        assert red.endswith(f" {one.answer}")
    assert {task.messages[0].content.startswith("red") for task in told} == {True, False}
    assert screen().start_model == "tiny_vision" and screen(told=True).start_model == "tiny"


def test_a_rollout_has_one_turn_without_execution():
    world = screen()
    one = played(world, world.tasks("test", 1, 0)[0])
    assert len(one.turns) == 1 and one.replies == [] and one.ending.kind == "completed"


def test_a_box_is_correct_by_its_centre():
    world = screen(answer="box")
    (task,) = world.tasks("train", 1, 0)
    left, top, right_, bottom = gold_box(task)

    def figures(box):
        one = played(world, task, saying(" ".join(map(str, box))))
        gauges = {name: (gauge.top(one, 1.0), gauge.bottom(one, 1.0)) for name, gauge in world.gauges.items()}
        return right(world, one), gauges

    area = (right_ - left) * (bottom - top)
    assert figures((left, top, right_, bottom)) == (1, {"iou": (1, 1), "edges": (1, 1), "size": (area, area)})
    correct, gauges = figures((left, top, left + 1, top + 1))
    assert correct == 1 and gauges["iou"][0] == pytest.approx(1 / area) and gauges["size"] == (1, area)
    assert figures((right_, top, left, bottom))[1]["iou"][0] == 0  # swapped corners
    wrong, gauges = figures(("no", "box"))
    assert wrong == 0 and gauges["iou"] == (0, 1) and gauges["size"] == (0, 0)


def test_loose_boxes_are_correct_with_less_overlap():
    overlap = []
    for loose in (0.0, 0.3, 0.6):
        world = screen(answer="box", loose=loose)
        rollouts = [played(world, task) for task in world.tasks("train", 60, 0)]
        assert all(right(world, one) for one in rollouts) and all(predicted_box(one) for one in rollouts)
        overlap.append(sum(world.gauges["iou"].top(one, 1.0) for one in rollouts) / 60)
    assert overlap[0] == 1 and 0.6 < overlap[1] < 0.9 and 0.4 < overlap[2] < overlap[1] - 0.05


def test_small_targets_have_larger_weights():
    tasks = screen(answer="box").tasks("train", 100, 0)
    weights = {size: [difficulty(one) for one in tasks if one.metadata["size"] == size] for size in ("small", "large")}
    assert min(weights["small"]) > max(weights["large"]) and min(weights["large"]) >= 0.5


def test_invalid_arguments_raise():
    for options in ({"answer": "voice"}, {"loose": 1.1}, {"loose": -0.1}):
        with pytest.raises(InputError, match="answer is one of"):
            screen(**options)
    for options in ({"screens": 0}, {"screens": 9}, {"screens": 2, "told": True}, {"screens": 2, "answer": "box"}):
        with pytest.raises(InputError, match="give 1 to 8"):
            screen(**options)
    with pytest.raises(InputError, match="1 to 4 widgets"):
        screen(widgets=5).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        screen().tasks("train", 0, 0)
