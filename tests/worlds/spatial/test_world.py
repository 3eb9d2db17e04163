import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("skimage")
pytest.importorskip("PIL")

from handaxe.worlds.spatial.scene import FOCAL, depth_at  # noqa: E402
from handaxe.worlds.spatial.world import KINDS, _view, answer_iou, gold_point, spatial, true_box  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = spatial()
TASKS = WORLD.tasks("train", 40, 0)


def task_of(kind, tasks=TASKS):
    return next(task for task in tasks if task.metadata["kind"] == kind)


def played(task, *calls, answer=None, world=WORLD):
    """The expert's conversation, or these calls, one a turn, and an answer."""

    def speaker(task, facts):
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        return Message("assistant", answer)

    env = world.env(world.tools)
    return demonstrate(env, task, world.expert if answer is None else speaker, format=FORMAT)


def right(one, world=WORLD):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_the_world_with_a_pointer_keeps_the_contract():
    check_world(spatial(pointer=True), count=12)


def test_the_expert_measures_the_depth_and_computes_the_position():
    task = task_of("x")
    one = played(task)
    x, y = gold_point(task)
    view = _view(task)
    depth = depth_at(view, x, y)
    assert [call.name for call in one.calls] == ["depth", "camera", "calculator"]
    assert [reply.content for reply in one.replies] == [str(depth), f"{FOCAL} {view.middle}", task.answer]
    assert int(task.answer) == (x - view.middle) * depth // FOCAL and right(one) == 1
    assert played(task_of("depth")).replies[-1].content == task_of("depth").answer
    assert not played(task_of("point")).calls and not played(task_of("box")).calls


def test_a_pointer_finds_the_mark_of_the_question():
    world = spatial(pointer=True)
    tasks = world.tasks("train", 40, 0)
    assert len({task.metadata["colour"] for task in tasks}) == 4
    task = task_of("box", tasks)
    one = played(task, world=world)
    assert one.calls[0].arguments == {"colour": task.metadata["colour"]}
    assert one.replies[0].content == task.answer == " ".join(map(str, true_box(task))) and right(one, world) == 1
    unknown = played(task, ToolCall("locate", {"colour": "pink"}), answer="1", world=world)
    assert unknown.replies[0].status == "retry" and "red, blue" in unknown.replies[0].content


@pytest.mark.parametrize("box", ["0 0 9 2", "1", "2 2 2 4", "-1 2 3 4", "a b c d"])
def test_boxes_outside_are_retries(box):
    one = played(task_of("depth"), ToolCall("depth", {"box": box}), answer="1")
    assert one.replies[0].status == "retry"


def test_points_boxes_depths_and_positions_are_scored():
    task = task_of("point")
    left, top, right_, bottom = true_box(task)
    for answer, correct in ((f"{left} {top}", 1), (f"{right_ + 1} {top}", 0), (f"{left} {bottom}", 1), ("7", 0)):
        assert right(played(task, answer=answer)) == correct
    task = task_of("box")
    left, top, right_, bottom = true_box(task)
    half = played(task, answer=f"{left} {top} {left + 1} {bottom}")
    assert right(half) == 1 and answer_iou(Group(task, (half,))).outcome[0] == pytest.approx(0.5)
    assert right(played(task, answer=f"{left} {top} {left + 1} {top + 1}")) == 0
    assert right(played(task, answer="nothing")) == 0
    for kind in ("depth", "x"):
        task = task_of(kind)
        depth = depth_at(_view(task), *gold_point(task))
        near, far = float(task.answer) + 0.019 * depth, float(task.answer) - 0.021 * depth
        for answer, correct in ((task.answer, 1), (str(near), 1), (str(far), 0), ("near", 0), ("nan", 0)):
            assert right(played(task, answer=answer)) == correct


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match=", ".join(KINDS)):
        spatial(kinds=("pose",))
    with pytest.raises(InputError, match="kinds are some of"):
        spatial(kinds=())
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)

    @tool
    def depth(box: str) -> str:
        """Measure."""
        return box

    with pytest.raises(ToolDefinitionError, match="depth"):
        WORLD.env([depth])
