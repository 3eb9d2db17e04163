import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Ending, Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.canvas.canvas import canvas, drawings, final_fidelity, qualities
from handaxe.worlds.canvas.drawing import COLOURS, Item, paint_items
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")

FORMAT = Compact(TinyImageProcessor(8))
WORLD = canvas()


def task_of(kind="make", slips=None, number=0, world=WORLD):
    """A task whose first calls slip as told, by shifts of the colour."""
    found = [task for task in world.tasks("train", 60, 0) if task.metadata["kind"] == kind]
    if slips is not None:
        found = [task for task in found if [shift > 0 for shift in task.metadata["slips"][: len(slips)]] == slips]
    return found[number]


def played(task, expert=None, world=WORLD):
    return demonstrate(world.env(()), task, expert or world.expert, format=FORMAT)


def named(program):
    """The object of a program of one statement."""
    colour, shape, left, top = program.split()
    return Item(colour, shape, int(left), int(top))


def calling(*calls):
    """A policy with these calls, (tool, arguments) or (tool, program), one per turn, and then an end."""

    def expert(task, facts):
        if facts["turn"] == len(calls):
            return Message("assistant", "done")
        name, given = calls[facts["turn"]]
        return Message("assistant", "", (ToolCall(name, given if isinstance(given, dict) else {"program": given}),))

    return expert


def right(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


def gauge(name, one):
    found = WORLD.gauges[name]
    return found.top(one, 0.0), found.bottom(one, 0.0) if found.bottom else 1.0


@pytest.mark.parametrize("options", [{}, {"objects": 3, "counts": 0.5, "changes": 0.0}, {"changes": 1.0}])
def test_canvas_keeps_the_world_contract(options):
    check_world(canvas(**options), count=12)


def test_canvas_matches_its_example():
    task = task_of(slips=[True, False])
    words = task.messages[0].content.split()
    assert words[0] == "draw" and words[3] == "at" and len(words) == 6
    one = played(task)
    program = task.metadata["program"]
    assert [call.name for call in one.calls] == ["paint", "paint"] and one.final_text == program == task.answer
    seen = drawings(one)[0].items[0]
    assert one.turns[1].parsed.text == f"{seen.colour} {seen.shape} {seen.left} {seen.top}" != program
    assert qualities(one) == [pytest.approx(2 / 3), 1] and right(one) == 1
    assert gauge("refined", one) == (1, 1) and gauge("reflection", one) == (2, 2) and gauge("fidelity", one) == (1, 1)


@pytest.mark.parametrize("errs", ["place", "colour"])
def test_the_image_shows_the_drawing_with_its_slip(errs):
    task = task_of(slips=[True, False], world=canvas(errs=errs))
    one = played(task)
    second, shift = named(task.metadata["program"]), task.metadata["slips"][0]
    if errs == "colour":
        names = list(COLOURS)
        first = second._replace(colour=names[(names.index(second.colour) + shift) % 6])
    else:
        cell = second.left // 2 + 4 * (second.top // 2) + 3 * shift
        first = second._replace(left=2 * (cell % 4), top=2 * (cell // 4 % 4))
    assert first != second
    assert [reply.images[0] for reply in one.replies] == [paint_items((first,), 32), paint_items((second,), 32)]
    assert [drawing.items for drawing in drawings(one)] == [(first,), (second,)]
    assert [drawing.turn for drawing in drawings(one)] == [0, 1]


def test_a_change_keeps_the_other_objects():
    task = task_of("change", slips=[False])
    assert len(task.messages[0].images) == 1 and task.messages[0].content.startswith("red to ")
    one = played(task)
    before, after = task.metadata["items"], [list(item) for item in drawings(one)[-1].items]
    assert after[1:] == before[1:] and after[0][0] != "red" and after[0][1:] == before[0][1:]
    assert [call.name for call in one.calls] == ["edit"]
    wiped = played(task, calling(("paint", "blue 0 0")))
    assert final_fidelity(wiped) < final_fidelity(played(task, calling())) < 1


def test_painting_again_without_a_look_is_right_as_often_as_painting_once():
    """Both drawings slip with one probability, so that the second is no better."""
    tasks = canvas(changes=0.0).tasks("train", 600, 1)
    for count in (1, 2, 3):
        share = sum(task.metadata["slips"][count - 1] == 0 for task in tasks) / len(tasks)
        assert share == pytest.approx(0.5 if count < 3 else 0.625, abs=0.06)
    assert all(0 in task.metadata["slips"][k : k + 3] for task in tasks for k in range(6))
    task = task_of(slips=[False, True])
    program = task.metadata["program"]
    assert right(played(task, calling(("paint", program)))) == 1
    assert right(played(task, calling(("paint", program), ("edit", program)))) == 0


def test_refused_programs_neither_draw_nor_count():
    task = task_of(slips=[False, True])
    program = task.metadata["program"]
    one = played(task, calling(("paint", "import os"), ("edit", "dye 0 0 red"), ("paint", program)))
    assert [reply.status for reply in one.replies] == ["retry", "retry", "ok"]
    assert len(drawings(one)) == 1 and right(one) == 1


def test_without_a_drawing_or_an_end_nothing_is_right():
    task = task_of(slips=[False])
    assert right(played(task, calling())) == 0 and gauge("reflection", played(task, calling())) == (0, 0)
    endless = calling(*[("paint", task.metadata["program"])] * 70)
    one = demonstrate(WORLD.env(()), task, endless, format=FORMAT, max_turns=1)
    assert final_fidelity(one) == 1 and one.ending == Ending("truncated", "turns") and right(one) == 0
    assert gauge("reflection", one) == (0, 1)


def test_a_snapshot_restores_the_drawing_and_the_number_of_calls():
    task = task_of(slips=[False, True])
    program = task.metadata["program"]
    env = WORLD.env(())(task)
    env.start()

    def step(name):
        turn = ParsedTurn("", (ToolCall(name, {"program": program}, "t0c0"),))
        return env.step(turn, seed=0).replies[0].images[0]

    first = step("paint")
    state = env.snapshot()
    slipped = step("edit")
    assert slipped != first
    env.restore(state)
    assert step("edit") == slipped


def test_compare_names_the_cells_that_differ():
    task = task_of("change", slips=[False])
    _, x, y, colour = task.metadata["program"].split()
    one = played(task, calling(("edit", task.metadata["program"]), ("compare", {"first": 1, "second": 2})))
    assert one.replies[1].content.endswith(f"different at {x} {y}") and "similarity 0.9" in one.replies[1].content
    same = played(task, calling(("compare", {"first": 1, "second": 1})))
    assert same.replies[0].content == "similarity 1.00, equal"
    missing = played(task, calling(("compare", {"first": 1, "second": 5})))
    assert missing.replies[0].status == "retry"


def test_tools_of_the_user_are_offered_too_and_a_taken_name_raises_early():
    @tool
    def paint(text: str) -> str:
        """Paint."""
        return text

    assert [schema.name for schema in WORLD.env([])(task_of()).start()[1]] == ["paint", "edit", "compare"]
    with pytest.raises(ToolDefinitionError, match="paint"):
        WORLD.env([paint])


def test_counts_and_colours_of_requests():
    tasks = canvas(objects=2, colours=2, shapes=1, changes=0.0, counts=1.0).tasks("train", 30, 0)
    for task in tasks:
        assert {one[1] for one in task.metadata["wanted"]} == {"red", "blue"}
        assert all(one[0] in (2, 3) and one[2] == "square" and len(one) <= 5 for one in task.metadata["wanted"])
    assert any("2 red squares" in task.messages[0].content for task in tasks)


@pytest.mark.parametrize(
    "wrong", [{"objects": 0}, {"objects": 3, "colours": 2}, {"shapes": 5}, {"slips": 1.0}, {"errs": "size"}]
)
def test_invalid_arguments_raise(wrong):
    with pytest.raises(InputError, match="canvas has objects"):
        canvas(**wrong)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)
