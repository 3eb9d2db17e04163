"""Rollouts on real packages, in real sandboxes."""

import json

import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.core.errors import InfrastructureError, InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Branch, Group, Message, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts import driver
from handaxe.rollouts.forking import forking
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.repair import runner as runner_module
from handaxe.worlds.repair.world import repair


@pytest.fixture(scope="module")
def world(sandbox):
    return repair()


def played(world, task, turns):
    """A rollout of the given turns, each a list of (tool, arguments)."""
    left = iter(turns)

    def says(task, facts):
        calls = next(left, ())
        return Message("assistant", "", tuple(ToolCall(name, arguments) for name, arguments in calls))

    return demonstrate(world.env(()), task, says, format=Compact(), max_turns=len(turns) + 1)


def expert_turns(world, task):
    """The expert's rollout, and its calls by turn."""
    turns = []

    def says(task, facts):
        message = world.expert(task, facts)
        turns.append([(call.name, call.arguments) for call in message.calls])
        return message

    return demonstrate(world.env(()), task, says, format=Compact(), max_turns=20), turns


def paid(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_repair_keeps_the_world_contract(world):
    check_world(world, count=8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"brief": False}, {"held_out": "package", "longest": 30}], ids=["prose", "package"]
)
def test_other_forms_keep_the_world_contract(sandbox, options):
    check_world(repair(**options), count=30)


def test_splits_share_no_function_or_no_package(world):
    def sides(world, key):
        return [{key(one) for one in world.tasks(split, 600, 0)} for split in ("train", "test")]

    train, test = sides(world, lambda one: (one.metadata["mutant"].split()[0], one.metadata["function"]))
    assert train and test and not train & test
    train, test = sides(repair(held_out="package"), lambda one: one.metadata["package"])
    assert (train, test) == ({"toolz", "networkx"}, {"hyperlink"})


def test_criteria_and_gauges_follow_the_repair(world):
    task = next(one for one in world.tasks("train", 40, 0) if one.metadata["tries"] == 2)
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=20)
    met_CN = world.check(one, world.criteria(task))
    turns = len(one.turns)
    assert met_CN.shape == (4, turns) and met_CN[:, -1].all() and not met_CN[:, 0].any()
    assert met_CN.argmax(axis=1).tolist()[2:] == [turns - 2, turns - 1]
    said = {name: gauge.top(one, 1.0) for name, gauge in world.gauges.items()}
    assert said == {"left": 0.0, "runs": 2.0, "replacements": 2.0} and paid(world, one) == 1


def test_nothing_scores_without_a_submission(world):
    (task,) = world.tasks("train", 1, 0)
    _, turns = expert_turns(world, task)
    assert paid(world, played(world, task, turns)) == 1
    assert paid(world, played(world, task, turns[:-1])) == 0
    assert paid(world, played(world, task, [[("submit", {})]])) == 0


def test_facts_and_report_are_json(world):
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=20)
    for facts in (*(turn.facts for turn in one.turns), one.env):
        assert json.loads(json.dumps(facts)) == facts


def test_a_forked_rollout_repairs_from_the_middle(world):
    task = next(one for one in world.tasks("train", 40, 0) if one.metadata["tries"] == 2)
    _, turns = expert_turns(world, task)
    env = world.env(())(task)
    schemas = env.start()[1]
    env.close()
    attempt = Attempt(
        task=task, env=world.env(()), format=Compact(), sampling=Sampling(), id="t/0", sample=0, seed=7, context=4096
    )

    def later(trunk):
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in trunk.turns[-1:]]

    script = [ToolCall(name, arguments) for calls in turns for name, arguments in calls]
    engine = ScriptedEngine(Compact(), script, tools=schemas)
    ((trunk, branch),) = driver.run([attempt], forking(at=later, max_turns=20), engine)
    assert branch.env["state"]["BriefBench"] == trunk.env["state"]["BriefBench"]
    assert trunk.env["state"]["BriefBench"]["repaired"]


def test_a_sandbox_that_fails_ends_the_rollout_without_a_score(world, monkeypatch):
    (task,) = world.tasks("train", 1, 0)

    def fail(self, *arguments, **options):
        raise InfrastructureError("the sandbox of the tests failed")

    monkeypatch.setattr(runner_module.Runner, "run", fail)
    one = played(world, task, [[("run_tests", {})]])
    assert one.ending.kind == "infra_error" and "the sandbox of the tests failed" in one.ending.reason


def test_bad_arguments_raise(world):
    for options in ({"longest": 4}, {"held_out": "seed"}):
        with pytest.raises(InputError, match="longest is 5 or more"):
            repair(**options)
    with pytest.raises(TaskError, match="empty"):
        world.tasks("train", 0, 0)
    with pytest.raises(ToolDefinitionError, match="is no tool"):
        world.env((3,))
