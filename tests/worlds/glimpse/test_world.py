import random
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Ending, Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.rewards.box_overlap import box_overlap
from handaxe.testing.worlds import check_world
from handaxe.worlds.glimpse.views import VIEWS, gold_region, last_region, seen_regions
from handaxe.worlds.glimpse.world import glimpse, other_view, region_iou
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.mistakes import add_mistakes

WORLDS = {
    "row": glimpse(),
    "loose row": glimpse(loose=6),
    "grid": glimpse(kind="grid"),
    "loose grid": glimpse(kind="grid", loose=2),
    "table": glimpse(kind="table"),
    "terminated table": glimpse(kind="table", terminated=True),
}
NAMED = {"row": ("view", "span"), "grid": ("zoom", "box"), "table": ("read_cell", "cell")}


def played(world, task, expert=None, tools=None):
    offered = world.tools if tools is None else tools
    return demonstrate(world.env(offered), task, expert or world.expert, format=Compact())


def calling(name, *arguments):
    """A policy with these calls, one per turn, and then the correct answer."""
    calls = [ToolCall(name, one) if isinstance(one, dict) else one for one in arguments]

    def expert(task, facts):
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        return Message("assistant", str(task.answer))

    return expert


def looking(task, *spans):
    kind = task.id.split("-")[1]
    name, argument = NAMED[kind]
    return calling(name, *({argument: span} for span in spans))


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def overlap(one, measure="iou"):
    reward = box_overlap(found=last_region, gold=gold_region, measure=measure)
    return reward(Group(one.task, (one,))).outcome[0]


def gauge(world, name, one):
    return world.gauges[name].top(one, 0.0), world.gauges[name].bottom(one, 0.0)


def first_task(kind, needs="yes", **more):
    return next(t for t in glimpse(kind=kind, **more).tasks("train", 60, 0) if t.metadata["needs_tool"] == needs)


@pytest.mark.parametrize("name", WORLDS)
def test_glimpse_keeps_the_world_contract(name):
    check_world(WORLDS[name], count=12)


def test_glimpse_matches_its_example():
    task = first_task("row")
    assert task.messages[0].content == "l0 u16 p34 64: u?" and gold_region(task) == (16, 34)
    one = played(WORLDS["row"], task)
    assert one.calls[0].arguments == {"span": "16 34"} and one.replies[0].content == ".............90..."
    assert task.answer == "90"


@pytest.mark.parametrize("name", WORLDS)
def test_the_expert_looks_if_necessary_or_unsure(name):
    world = WORLDS[name]
    for task in world.tasks("train", 30, 3):
        needs, one = task.metadata["needs_tool"] == "yes", played(world, task)
        assert bool(seen_regions(one)) == needs and right(world, one) == 1
        state = {"turn": 0, "replies": [], "statuses": [], "tools": [NAMED[name.split()[-1]][0]], "sure": False}
        assert world.expert(task, state).calls[0].name == NAMED[name.split()[-1]][0]
        assert one.ending == Ending("completed")


@pytest.mark.parametrize("name", WORLDS)
def test_questions_do_not_contain_hidden_numbers(name):
    for split in ("train", "test"):
        for task in WORLDS[name].tasks(split, 150, 0):
            said = " ".join(message.content for message in task.messages)
            assert (task.answer in said) == (task.metadata["needs_tool"] == "no")


@pytest.mark.parametrize("kind", ["row", "grid", "table"])
def test_without_views_accuracy_is_at_chance(kind):
    """The best constant two-digit answer is correct once in ninety times; the question does not narrow it down."""
    tasks = glimpse(kind=kind, needed=1.0).tasks("train", 600, 1)
    counts = np.unique([task.answer for task in tasks], return_counts=True)[1]
    assert counts.max() / len(tasks) < 0.04
    shown = [set(task.messages[0].content.split(":")[0].split()) for task in tasks]
    assert not any(task.answer in words for task, words in zip(tasks, shown, strict=True))


@pytest.mark.parametrize("needed", [0.0, 0.3, 1.0])
def test_needed_is_the_share_of_questions_for_the_tool(needed):
    tasks = glimpse(needed=needed).tasks("train", 400, 0)
    assert sum(t.metadata["needs_tool"] == "yes" for t in tasks) / 400 == pytest.approx(needed, abs=0.07)


@pytest.mark.parametrize("kind", ["row", "grid"])
def test_loose_views_are_wider_and_contain_the_number(kind):
    world = glimpse(kind=kind, loose=4, needed=1.0)
    found = [played(world, task) for task in world.tasks("train", 60, 0)]
    assert all(one.task.answer in one.replies[0].content for one in found)
    assert 0.3 < np.mean([overlap(one) for one in found]) < 0.9
    assert {overlap(played(glimpse(kind=kind), one.task)) for one in found} == {1.0}


def test_a_row_shows_the_requested_stretch():
    world, task = WORLDS["row"], first_task("row")
    one = played(world, task, looking(task, "0 64", "3 4"))
    assert [len(reply.content) for reply in one.replies] == [64, 1]
    assert one.replies[0].content == task.metadata["hidden"] and one.replies[1].content == task.metadata["hidden"][3]


def test_a_grid_shows_the_requested_box():
    world, task = WORLDS["grid"], first_task("grid")
    one = played(world, task, looking(task, "0 0 8 8", "1 2 4 4"))
    lines = task.metadata["hidden"].split("/")
    assert one.replies[0].content.split("/") == lines
    assert one.replies[1].content.split("/") == [line[1:4] for line in lines[2:4]]


def test_a_table_shows_the_requested_cell():
    world, task = WORLDS["table"], first_task("table")
    one = played(world, task, looking(task, "b1", "d4", "e1", "b5", "b", ""))
    lines = [line.split() for line in task.metadata["hidden"].split("/")]
    assert [reply.content for reply in one.replies[:2]] == [lines[0][1], lines[3][3]]
    assert [reply.status for reply in one.replies] == ["ok"] * 2 + ["retry"] * 4


SWAPPED_AND_WORSE = ["9 3", "3 3", "nan 4", "0 65", "-1 4", "0", "0 1 2", "", "0.5 4", "0 1e1", "x y", "9" * 400 + " 1"]


@pytest.mark.parametrize("span", SWAPPED_AND_WORSE)
def test_invalid_regions_are_rejected_and_not_counted(span):
    world, task = WORLDS["row"], first_task("row")
    one = played(world, task, looking(task, span))
    assert one.replies[0].status == "retry" and seen_regions(one) == [] and overlap(one) == 0
    assert gauge(world, "width", one) == (0, 0) and gauge(world, "looked", one) == (0, 1)
    seen = played(world, task, looking(task, "0 8", span))
    assert last_region(seen) == (0, 8)


@pytest.mark.parametrize("box", ["4 4 2 6", "0 0 9 8", "0 0 0 8", "1 2 3", "nan 0 1 1"])
def test_boxes_with_swapped_corners_or_beyond_the_grid_are_rejected(box):
    task = first_task("grid")
    one = played(WORLDS["grid"], task, looking(task, box))
    assert one.replies[0].status == "retry" and last_region(one) is None


def test_text_with_a_region_is_no_view():
    world, task = WORLDS["row"], first_task("row")
    span = " ".join(map(str, gold_region(task)))
    said = played(world, task, lambda task, facts: Message("assistant", f"view {span}"))
    other = played(world, task, calling("look", {"span": span}))
    spoiled = played(world, task, calling("view", {"box": span}))
    for one in (said, other, spoiled):
        assert seen_regions(one) == [] and overlap(one) == 0 and gauge(world, "looked", one)[0] == 0


def test_the_last_successful_view_counts():
    world, task = WORLDS["row"], first_task("row")
    gold = " ".join(map(str, gold_region(task)))
    assert overlap(played(world, task, looking(task, "0 64", gold, "9 1"))) == 1
    assert overlap(played(world, task, looking(task, gold, "0 64"))) == pytest.approx(18 / 64)
    one = played(world, task, looking(task, "0 64", gold))
    assert [seen.turn for seen in seen_regions(one)] == [0, 1]
    assert gauge(world, "width", one) == (18, 1) and gauge(world, "iou", one) == (1, 1)


@pytest.mark.parametrize("kind", ["row", "grid"])
def test_iou_is_at_most_recall(kind):
    world, rng = glimpse(kind=kind), random.Random(0)
    for task in world.tasks("train", 25, 0):
        low = [rng.randrange(0, 7) for _ in range(len(gold_region(task)) // 2)]
        high = [rng.randrange(a + 1, 9) for a in low]
        one = played(world, task, looking(task, " ".join(map(str, low + high))))
        assert 0 <= overlap(one) <= overlap(one, "recall") <= 1
        swapped = replace(task, metadata={**task.metadata, "gold": low + high})
        back = played(world, swapped, looking(task, " ".join(map(str, gold_region(task)))))
        assert overlap(back) == pytest.approx(overlap(one))
        whole = played(world, task, looking(task, "0 64" if kind == "row" else "0 0 8 8"))
        assert overlap(whole, "recall") == 1 and overlap(whole) == pytest.approx(area(gold_region(task)) / 64)


def area(region):
    half = len(region) // 2
    return np.prod([region[k + half] - region[k] for k in range(half)])


def test_a_call_of_answer_ends_a_terminated_rollout():
    world, task = WORLDS["terminated table"], first_task("table")
    one = played(world, task, calling("answer", {"text": str(task.answer)}, {"text": "0"}))
    assert len(one.turns) == 1 and one.ending == Ending("completed") and right(world, one) == 1
    assert right(world, played(world, task, calling("answer"))) == 0, "words are no answer here"


def test_other_view_does_not_show_the_number():
    for kind in NAMED:
        world = glimpse(kind=kind, needed=1.0)
        erring, misses = add_mistakes(world.expert, wrong=other_view), 0
        for task in world.tasks("train", 30, 0):
            one = played(world, task, erring)
            plain = played(world, task)
            assert right(world, one) == 1
            if len(one.calls) == len(plain.calls):
                continue  # no other region
            misses += 1
            assert one.replies[0].status == "ok" and task.answer not in one.replies[0].content
            assert [reply.content for reply in one.replies[1:]] == [reply.content for reply in plain.replies]
            assert gauge(world, "second_look", one) == (1, 1)
        assert misses > 20


def test_second_look_counts_rollouts_with_a_poor_first_view():
    world, task = WORLDS["row"], first_task("row")
    assert gauge(world, "second_look", played(world, task)) == (0, 0)
    assert gauge(world, "second_look", played(world, task, looking(task, "40 64"))) == (0, 1)
    assert gauge(world, "second_look", played(world, task, calling("view"))) == (0, 0)


def test_a_needless_view_counts_as_looked_and_not_in_iou():
    world, task = WORLDS["row"], first_task("row", needs="no")
    one = played(world, task, looking(task, " ".join(map(str, gold_region(task)))))
    assert gauge(world, "iou", one) == (0, 0) and gauge(world, "looked", one) == (1, 1)
    assert region_iou(Group(task, (one,))).outcome.tolist() == [1]


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="loose is 65"):
        glimpse(loose=65)
    with pytest.raises(InputError, match="needed of 0 to 1, not 2"):
        glimpse(needed=2).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        glimpse().tasks("train", 0, 0)
    with pytest.raises(ToolDefinitionError):
        glimpse(kind="table", terminated=True).env([3])


@pytest.mark.parametrize("kind", ["row", "grid", "table"])
def test_tools_with_a_taken_name_raise_early(kind):
    with pytest.raises(ToolDefinitionError, match=NAMED[kind][0]):
        glimpse(kind=kind).env([lambda: VIEWS[NAMED[kind][0]]("")])


@pytest.mark.parametrize("kind", ["row", "grid"])
def test_loose_views_are_independent_of_the_numbers_place(kind):
    world = glimpse(kind=kind, loose=6, needed=1.0)
    facts = {"turn": 0, "replies": [], "statuses": [], "tools": [NAMED[kind][0]]}
    for task in world.tasks("train", 30, 0):
        moved = replace(task, metadata={**task.metadata, "number": task.metadata["gold"]})
        assert world.expert(task, facts) == world.expert(moved, facts)
