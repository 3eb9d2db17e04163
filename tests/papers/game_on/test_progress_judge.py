import pytest

pytest.importorskip("minigrid")

from handaxe.core.records import Group, Message, ToolCall  # noqa: E402
from handaxe.evaluation.attack_trials import LabCase  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.papers.game_on.grid_moves import grid_moves  # noqa: E402
from handaxe.papers.game_on.progress_judge import progress_judge  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

WORLD = grid_moves()
LAB = [LabCase("progress_judge()", grid_moves, lambda world: progress_judge())]


def played(task, cell):
    """A rollout of the expert (None), of walks to one cell, or of words alone."""

    def expert(task, facts):
        if cell is None:
            return WORLD.expert(task, facts)
        calls = (ToolCall("go", {"cell": cell}),) if cell[0].isdigit() else ()
        return Message("assistant", "" if calls else cell, calls)

    return demonstrate(WORLD.env(()), task, expert, format=Compact(TinyImageProcessor(8)), max_turns=3)


def rollouts(task):
    return Group(task, tuple(played(task, cell) for cell in (None, "0 0", "4 2", "no walk")))


SIBLINGS = rollouts(WORLD.tasks("test", 1, 0)[0])


def test_the_judge_of_frames_agrees_with_the_state():
    scores = []
    for task in WORLD.tasks("test", 24, 0):
        group = rollouts(task)
        scores.append(progress_judge()(group).outcome.tolist())
        assert scores[-1] == WORLD.correct(group).outcome.tolist()
        assert scores[-1][0] == 1 and scores[-1][3] == 0
    assert {score for one in scores for score in one[1:3]} == {0, 1}, "some walks to a fixed cell are correct"
