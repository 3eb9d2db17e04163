import pytest

pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.mle_dojo.competitions import best_position, competitions, dojo_log, task_contest
from handaxe.papers.mle_dojo.score_progress import turn_scores
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FITTED = True
FALLS = "Most programs of the expert for one task work for any other."


@pytest.fixture(scope="module")
def world(sandbox):
    return competitions(sets=("iris",), rows=48)


def test_competitions_keep_the_world_contract(world):
    check_world(world, count=2)
    check_env(world.env(()), world.tasks("train", 1, 0)[0])


def test_the_outcome_is_the_position_of_the_best_program(world):
    task = world.tasks("test", 1, 0)[0]
    codes = ["enter(SimpleImputer(), KNeighborsClassifier())", "enter(SVC())", "submit([1] * len(test_X))"]

    def speak(task, facts):
        calls = (ToolCall("execute_code", {"code": codes[facts["turn"]]}),) if facts["turn"] < len(codes) else ()
        return Message("assistant", "" if calls else "done", calls)

    one = demonstrate(world.env(()), task, speak, format=Compact(), max_turns=6)
    scores = turn_scores(one, "position")
    assert scores[1] is None and scores[3] is None and scores[0] > scores[2]
    assert world.correct(Group(task, (one,))).outcome.tolist() == [scores[0]] == [best_position(one)]
    figures = {name: (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for name, gauge in world.gauges.items()}
    assert figures == {"exec_errors": (1, 3), "executions": (3, 1), "validations": (0, 1)}
    assert [row["code"] for row in dojo_log(one)] == codes


def test_splits_have_other_draws(world):
    numbers = [{task.metadata["number"] for task in world.tasks(split, 30, 0)} for split in ("train", "test")]
    assert numbers == [{0, 1, 2, 3}, {4, 5}]
    assert task_contest(world.tasks("test", 1, 0)[0]).metric == "accuracy"


@pytest.mark.parametrize("arguments", [{"sets": ()}, {"sets": ("titanic",)}, {"rows": 47}])
def test_arguments_out_of_range_raise(arguments):
    with pytest.raises(InputError, match="sets are some of iris"):
        competitions(**arguments)
