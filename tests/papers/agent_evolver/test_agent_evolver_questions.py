import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.curricula.task_pool import TaskPool

pytest.importorskip("bm25s")
SHORT = ["--explorations", "4"]
REMEMBERS = "proposed tasks"
RESUMED = ["--explorations", "16"]


def test_one_stage_fills_a_task_pool_before_the_loop():
    method = made("agent_evolver_questions", "--explorations", "4")
    assert len(method.stages) == 1
    assert isinstance(method.tasks(method.world.tasks("train", 2, 0), 0), TaskPool)


def test_a_world_without_exploration_is_rejected():
    with pytest.raises(InputError, match="has no 'exploration'"):
        made("agent_evolver_questions", "--world", "minigrid_text")
