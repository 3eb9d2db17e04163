"""The teaching phase chooses the specialist's tasks, and refuses a world without them."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.papers.space_tools.specialist_traces import single_tool_tasks
from handaxe.papers.space_tools.teaching_phase import KINDS, TOOL, teaching_phase

pytest.importorskip("skimage")
SIZES = {"specialist_steps": 0, "specialist_tasks": 2, "teacher": 4, "batch_size": 2}


@pytest.mark.slow
def test_the_specialist_has_tasks_of_one_tool():
    world = made("space_tools").world
    tasks = single_tool_tasks(world.tasks("train", 40, 0), kinds=KINDS, tool=TOOL)
    assert tasks and {one.metadata["kind"] for one in tasks} <= set(KINDS)
    assert callable(teaching_phase(made("space_tools"), **SIZES))


def test_a_world_without_these_questions_is_refused():
    with pytest.raises(InputError):
        teaching_phase(made("grpo"), **SIZES)
