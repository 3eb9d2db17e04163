import pytest

pytest.importorskip("minigrid")

from handaxe.core.errors import InputError, TaskError  # noqa: E402
from handaxe.core.records import Group, Message, ToolCall  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.papers.game_on.grid_moves import after_moves, grid_moves  # noqa: E402
from handaxe.papers.game_on.moves_room import agent_cell, spell_cell  # noqa: E402
from handaxe.testing.worlds import check_world  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD, WHOLE = grid_moves(), grid_moves(decompose=False)


def task_of(length, world=WORLD):
    return next(task for task in world.tasks("train", 40, 0) if task.metadata["length"] == length)


def played(task, *cells, world=WORLD):
    def expert(task, facts):
        return Message("assistant", "", (ToolCall("go", {"cell": spell_cell(cells[facts["turn"]])}),))

    return demonstrate(world.env(()), task, expert if cells else world.expert, format=FORMAT, max_turns=3)


def correct(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


@pytest.mark.parametrize("arguments", [{}, {"decompose": False, "composed": 1.0}])
def test_grid_moves_keeps_the_world_contract(arguments):
    check_world(grid_moves(**arguments), count=12)


def test_after_moves_adds_the_moves():
    assert after_moves((1, 2), ["up", "left"]) == (0, 1)
    assert after_moves((0, 0), ["left"]) is None and after_moves((3, 3), ["right", "left"]) is None


def test_a_composed_task_is_said_one_skill_at_a_time():
    task = task_of(2)
    one = played(task)
    first, second = task.metadata["skills"]
    said = [message.content for message in one.messages if message.role == "user"]
    assert said == [f"red {first}?\ufffc", f"red {second}?"] and len(one.turns) == 2 and correct(one) == 1
    frames = [reply.images[0] for reply in one.replies]
    assert [list(agent_cell(image)) for image in frames][-1] == task.metadata["goal"]
    whole = task_of(2, WHOLE)
    one = played(whole, world=WHOLE)
    assert whole.messages[0].content == f"red {' '.join(whole.metadata['skills'])}?\ufffc" and len(one.turns) == 1


def test_a_walk_to_another_cell_is_incorrect():
    task = task_of(1)
    goal = tuple(task.metadata["goal"])
    other = next((x, y) for x in range(4) for y in range(4) if (x, y) != goal)
    assert correct(played(task, goal)) == 1 and correct(played(task, other)) == 0
    assert len(played(task, other).turns) == 1, "one walk a skill"


@pytest.mark.parametrize("composed", [0.0, 0.3, 1.0])
def test_composed_is_the_share_of_two_moves(composed):
    lengths = [task.metadata["length"] for task in grid_moves(composed=composed).tasks("train", 200, 0)]
    assert lengths.count(2) / 200 == pytest.approx(composed, abs=0.1)


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="composed of 0 to 1, not 2"):
        grid_moves(composed=2)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)
    with pytest.raises(InputError, match="split must be train or test"):
        WORLD.tasks("validation", 1, 0)
