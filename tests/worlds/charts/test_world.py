import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.worlds import check_world
from handaxe.worlds.charts.world import charts, stated_box
from handaxe.worlds.parts.demonstrate import demonstrate

EVERY = ("value", "sum", "larger", "count", "box", "words")
FORMAT = Compact(TinyImageProcessor(8))


def task_of(world, kind, split="train"):
    return next(task for task in world.tasks(split, 100, 0) if task.metadata["kind"] == kind)


def played(world, task, expert=None):
    return demonstrate(world.env(world.tools), task, expert or world.expert, format=FORMAT, max_turns=6)


def saying(text):
    return lambda task, facts: Message("assistant", text)


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def gauge(world, name, one):
    return world.gauges[name].top(one, 0.0), world.gauges[name].bottom(one, 0.0)


def test_charts_keeps_the_world_contract():
    check_world(charts(kinds=EVERY), count=21)
    check_world(charts(terminated=True), count=8)
    check_world(charts(kinds=("value", "box"), tolerance=0.05, mistakes=True), count=8)


def test_charts_matches_its_example():
    world = charts()
    one = played(world, task_of(world, "sum"))
    assert [call.name for call in one.calls] == ["zoom", "zoom", "calculator"]
    assert one.replies[2].content == one.task.answer == one.final_text
    assert [len(reply.images) for reply in one.replies] == [1, 1, 0]


def test_only_questions_with_two_operands_offer_the_calculator():
    assert [tool.schema.name for tool in charts().tools] == ["calculator"]
    assert charts(kinds=("value", "larger")).tools == ()


def test_a_question_about_the_overview_needs_no_call_and_an_unsure_expert_zooms():
    world = charts(kinds=("larger", "count", "box", "words"))
    for task in world.tasks("train", 12, 0):
        assert not played(world, task).calls
        unsure = played(world, task, lambda task, facts: world.expert(task, {**facts, "sure": False}))
        assert [call.name for call in unsure.calls] == ["zoom"] and right(world, unsure) == 1


def test_the_control_offers_no_zoom():
    world = charts(kinds=("value",), zoom=False)
    one = played(world, task_of(world, "value"))
    assert one.tools == () and not one.calls


def test_the_terminated_form_ends_with_the_answer_tool():
    world = charts(terminated=True)
    one = played(world, task_of(world, "value"))
    assert [call.name for call in one.calls] == ["zoom", "answer"] and one.ending.kind == "completed"
    assert right(world, one) == 1 and right(world, played(world, one.task, saying(one.task.answer))) == 0


def test_numbers_may_deviate_by_the_tolerance():
    exact, loose = charts(kinds=("value", "count")), charts(kinds=("value", "count"), tolerance=0.05)
    task = next(one for one in loose.tasks("train", 100, 0) if len(one.answer) == 2 and int(one.answer) >= 60)
    near, far = str(int(task.answer) + 3), str(int(task.answer) + 6)
    assert [right(loose, played(loose, task, saying(text))) for text in (near, far, "")] == [1, 0, 0]
    assert right(exact, played(exact, task, saying(near))) == 0
    count = task_of(loose, "count")
    assert right(loose, played(loose, count, saying(count.answer))) == 1
    assert right(loose, played(loose, count, saying(str(int(count.answer) + 1)))) == 0


def test_a_box_is_correct_from_an_overlap_of_one_half():
    world = charts(kinds=("box",))
    task = task_of(world, "box")
    left, top, right_, bottom = task.metadata["gold"]
    half = f"{left} {top} {right_ - 1} {bottom}"
    less = f"{left} {top} {right_ - 1} {bottom - 1}"
    assert [right(world, played(world, task, saying(text))) for text in (half, less, "box")] == [1, 0, 0]
    assert stated_box(played(world, task, saying(half))) == (left, top, right_ - 1, bottom)


def test_mistakes_begin_half_of_the_tasks_with_a_failing_zoom():
    world = charts(kinds=("value",), mistakes=True)
    ones = [played(world, task) for task in world.tasks("train", 40, 0)]
    assert all(right(world, one) == 1 for one in ones)
    failed = [gauge(world, "first_call_failed", one)[0] for one in ones]
    assert 10 < sum(failed) < 30
    assert {tuple(reply.status for reply in one.replies) for one in ones} == {("ok",), ("retry", "ok")}


def test_gauges_count_looks_overlaps_and_calls():
    world = charts()
    value, count = task_of(world, "value"), task_of(world, "count")
    blind = played(world, value, saying("1"))

    def everything(task, facts):
        calls = (ToolCall("zoom", {"box": "0 0 8 8"}),) if facts["turn"] == 0 else ()
        return Message("assistant", "" if calls else "1", calls)

    whole, needless = played(world, value, everything), played(world, count, everything)
    found = {name: [gauge(world, name, one) for one in (blind, whole, needless)] for name in GAUGED}
    assert found["looked"] == [(0, 1), (1, 1), (1, 1)]
    assert found["iou"] == [(0, 1), (4 / 64, 1), (0, 0)]
    assert found["calls_on_needed"] == [(0, 0), (1, 1), (0, 1)]


GAUGED = ("looked", "iou", "calls_on_needed")
