import pytest

pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.rl_mle.ml_engineering import landmarks, ml_engineering, submission_score, submitted
from handaxe.papers.rl_mle.ml_programs import Plan, data, instrument, run_program, write_program
from handaxe.rewards.gate import gate
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FALLS = "Most plans of the expert for one task work for any other."


@pytest.fixture(scope="module")
def world():
    return ml_engineering()


def played(world, task, plan):
    says = (ToolCall("run", {"plan": plan}),)
    return demonstrate(
        world.env(()), task, lambda task, facts: Message("assistant", "", says), format=Compact(), max_turns=2
    )


def of(world, name):
    return next(task for task in world.tasks("train", 20, 0) if task.metadata["set"] == name)


@pytest.mark.slow
def test_ml_engineering_keeps_the_world_contract(world):
    check_world(world, count=8)
    check_env(world.env(()), world.tasks("train", 1, 0)[0])


def test_submission_score_equals_a_separate_run(world):
    """Accuracy a on the held-out half: (a - nothing) / (everything - nothing), by a separate run of the program."""
    for name, nothing, everything in (("digits", 0.4, 0.92), ("wine", 0.75, 0.98)):
        task = of(world, name)
        held = data(name, number=task.metadata["number"], rows=300)
        a = float(
            (run_program(instrument(write_program(Plan("std", "forest", 3))), held).submitted == held.test_y).mean()
        )
        one = played(world, task, "std forest 3")
        assert submission_score(one) == pytest.approx(min(1.0, max(0.0, (a - nothing) / (everything - nothing))))
        assert one.replies[0].content == f"accuracy {a:.3f}" and len(one.turns) == 1
        assert world.correct(Group(task, (one,))).outcome.tolist() == [submission_score(one)]


def test_more_trees_score_higher(world):
    task = of(world, "digits")
    few, many = played(world, task, "raw extra 1"), played(world, task, "raw extra 100")
    assert submission_score(few) < 0.5 < submission_score(many)


def test_the_first_of_several_programs_runs(world):
    task = of(world, "wine")
    says = tuple(ToolCall("run", {"plan": plan}) for plan in ("std forest 1", "std forest 100"))
    one = demonstrate(
        world.env(()), task, lambda task, facts: Message("assistant", "", says), format=Compact(), max_turns=2
    )
    assert one.env["state"]["Studio"]["trees"] == 1
    assert [reply.status for reply in one.turns[0].replies] == ["ok", "retry"]


def test_failed_programs_are_rewarded_by_landmarks(world):
    task = of(world, "digits")
    tried = [played(world, task, plan) for plan in ("std forest 30", "log forest 30", "std forest", "std oak 3")]
    reward = gate(on=submitted(), then=world.correct, otherwise=landmarks(most=0.1))
    assert reward(Group(task, tuple(tried))).outcome == pytest.approx([submission_score(tried[0]), 0.1 * 4 / 7, 0, 0])
    assert submitted()(Group(task, tuple(tried))).outcome.tolist() == [1, 0, 0, 0]
    assert [one.replies[0].status for one in tried] == ["ok", "ok", "retry", "retry"]
    gauges = {
        name: [(gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for one in tried] for name, gauge in world.gauges.items()
    }
    assert gauges["submitted"] == [(1, 1), (0, 1), (0, 1), (0, 1)]
    assert gauges["trees"] == [(30, 1), (30, 1), (0, 0), (0, 0)]


@pytest.mark.parametrize("arguments", [{"sets": ()}, {"sets": ("iris",)}, {"rows": 39}])
def test_arguments_out_of_range_raise(arguments):
    with pytest.raises(InputError, match="sets are some of digits, wine and rows 40 or more"):
        ml_engineering(**arguments)
