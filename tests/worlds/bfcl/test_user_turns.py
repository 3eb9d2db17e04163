import importlib
import json
import random

import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.records import Branch, Ending, ParsedTurn, Sampling, ToolCall
from handaxe.core.requests import Attempt, Completion
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.worlds.bfcl.package import MULTI_TURN
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.bfcl.user_turns import ADDED, MOST_STEPS, UserTurns
from handaxe.worlds.bfcl.world import bfcl, full_state

SILENCE = ParsedTurn("")


def task_of(category="multi_turn_base", number=0):
    return all_tasks(category)[number]


def turn(*calls):
    return ParsedTurn("", tuple(ToolCall(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)))


def gold_turn(task, number):
    return turn(*((one["name"], one["arguments"]) for one in task.metadata["gold"][number]))


def judged(task, turns):
    """The report after these calls, a list per turn of the user."""
    env = UserTurns(task)
    env.start()
    for calls in turns:
        if calls:
            env.step(turn(*((one["name"], one["arguments"]) for one in calls)), seed=0)
        env.step(SILENCE, seed=0)
    return env.report()


def test_the_user_continues_after_a_turn_without_calls():
    task = task_of()
    env = UserTurns(task)
    messages, tools = env.start()
    assert messages == task.messages and len(tools) == 32
    reply = env.step(gold_turn(task, 0), seed=0)
    assert [one.content for one in reply.replies][:2] == ['{"current_working_directory": "document"}', "None"]
    assert not reply.done and reply.facts == {"user_turn": 0, "called": True, "calls": 3, "progress": 0.0}
    reply = env.step(SILENCE, seed=0)
    assert [one.content for one in reply.messages] == task.metadata["later"][0] and reply.messages[0].role == "user"
    assert reply.facts == {"user_turn": 1, "called": False, "calls": 0, "progress": 0.25}
    for number in (1, 2, 3):
        env.step(gold_turn(task, number), seed=0)
        reply = env.step(SILENCE, seed=0)
    assert reply.done and reply.ending is None
    assert env.report() == {
        "replies": {"ok": 10},
        "malformed": 0,
        "state": {},
        "turns": [True] * 4,
        "progress": 1.0,
        "valid": True,
        "equal": dict.fromkeys(full_state(task), True),
    }


def test_an_incorrect_turn_fails_the_rollout_and_progress_counts_the_others():
    task = task_of()
    gold = task.metadata["gold"]
    extra = [{"name": "pwd", "arguments": {}}]
    assert judged(task, [gold[0] + extra, *gold[1:]])["valid"], "what only reads does no harm"
    found = judged(task, [gold[0], [], *gold[2:]])
    assert not found["valid"] and found["turns"][:2] == [True, False]
    harmful = [{"name": "touch", "arguments": {"file_name": "new"}}]
    assert judged(task, [*gold[:3], gold[3] + harmful])["turns"] == [True, True, True, False]
    assert judged(task, [*gold[:3], gold[3] + harmful])["progress"] == 0.75


def test_held_back_functions_are_announced_later():
    task = task_of("multi_turn_miss_func")
    ((number, names),) = task.metadata["held_back"].items()
    assert (number, names) == ("3", ["sort"]) and task.metadata["gold"][2] == []
    env = UserTurns(task)
    assert "sort" not in [tool.name for tool in env.start()[1]]
    for k in range(2):
        env.step(gold_turn(task, k), seed=0)
        env.step(SILENCE, seed=0)
    reply = env.step(SILENCE, seed=0)
    described, said = reply.messages[0].content.split("\n")
    assert said == ADDED and [one["name"] for one in json.loads(described)] == ["sort"]
    assert env.step(gold_turn(task, 3), seed=0).replies[0].status == "ok"


def test_failing_calls_get_replies_with_the_reason():
    env = UserTurns(task_of())
    env.start()
    for name, arguments, status, text in (
        ("cd", {"folder": "nowhere"}, "failed", "No such file or directory"),
        ("cd", {"folder": 7}, "failed", "Error during execution"),
        ("cd", {}, "failed", "missing 1 required positional argument"),
        ("cd", {"folder": "document", "quickly": True}, "failed", "unexpected keyword argument 'quickly'"),
        ("_load_scenario", {"scenario": {}}, "invalid", "there is no tool '_load_scenario'"),
        ("__init__", {}, "invalid", "there is no tool '__init__'"),
    ):
        (reply,) = env.step(turn((name, arguments)), seed=0).replies
        assert reply.status == status and text in reply.content
    reply = env.step(ParsedTurn("", (), ("the call is not closed",)), seed=0)
    assert reply.messages[0].content == "malformed call: the call is not closed" and not reply.done
    assert env.report()["malformed"] == 1


def test_an_endless_rollout_is_ended():
    env = UserTurns(task_of())
    env.start()
    replies = [env.step(turn(("pwd", {})), seed=0) for _ in range(MOST_STEPS + 1)]
    assert [one.done for one in replies] == [False] * MOST_STEPS + [True]
    assert replies[-1].ending == Ending("truncated", "turns") and not env.report()["valid"]


@pytest.mark.parametrize("category", MULTI_TURN)
def test_the_rule_equals_the_packages_checker(category, changed):
    """On every answer, with random changes."""
    check = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker").multi_turn_checker
    rng, seen = random.Random(category), []
    for number, task in enumerate(all_tasks(category)):
        about = task.metadata
        turns = [changed(calls, rng) if calls and rng.random() < 0.3 else calls for calls in about["gold"]]
        entry = {"id": task.id, "initial_config": about["config"], "involved_classes": about["classes"]}
        written = [[[written_as(one) for one in calls]] if calls else [] for calls in turns]
        # The package stores simulators by the name of a model, which must be a valid variable name.
        theirs = check(written, task.answer, entry, category, f"of_{number}")["valid"]
        assert judged(task, turns)["valid"] is theirs, (task.id, turns)
        seen.append(theirs)
    assert 60 < sum(seen) < 180


def written_as(call):
    return f"{call['name']}({', '.join(f'{name}={value!r}' for name, value in call['arguments'].items())})"


@pytest.mark.parametrize("category, number", [("multi_turn_base", 60), ("multi_turn_long_context", 0)])
def test_a_fork_continues_from_the_snapshot(category, number):
    """A branch at every turn, with the trunk's calls, has the trunk's replies and end."""
    task, format = task_of(category, number), Compact()
    speech, tools = spoken(task)

    def sample(name, request):
        ids = format.encode_turn(speech[request.turn], tools)
        return Completion(ids, [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop")

    attempt = Attempt(task, bfcl().env(()), format, Sampling(max_tokens=10**6), "t/0", 0, 0, 10**6)
    rollout = forking(at=lambda trunk: [Branch(trunk.id, one.sequence, one.start) for one in trunk.turns], max_turns=40)
    trunk, *branches = run_plan(rollout(attempt), sample=sample)
    assert trunk.env["valid"] and len(branches) == len(trunk.turns) == len(speech)
    for branch in branches:
        assert branch.env == trunk.env
        assert [reply.content for reply in branch.replies] == [reply.content for reply in trunk.replies]


def spoken(task):
    """The expert's messages, turn by turn, and the offered tools."""
    world, facts = bfcl(), {}
    said = []
    env = world.env(())(task)
    tools, done = env.start()[1], False
    while not done:
        said.append(world.expert(task, facts))
        reply = env.step(ParsedTurn("", said[-1].calls), seed=0)
        facts, done = reply.facts, reply.done
    return said, tools


def test_a_snapshot_is_independent_of_later_turns():
    task = task_of()
    env, other = UserTurns(task), UserTurns(task)
    env.start(), other.start()
    env.step(gold_turn(task, 0), seed=0)
    kept = env.snapshot()
    env.step(turn(("rm", {"file_name": "previous_report.pdf"})), seed=0)
    env.step(SILENCE, seed=0)
    for _ in range(2):
        other.restore(kept)
        listed = other.step(turn(("ls", {})), seed=0).replies[0].content
        assert json.loads(listed) == {"current_directory_content": ["previous_report.pdf", "temp"]}
        other.step(turn(("rm", {"file_name": "temp"})), seed=0)
        other.restore(kept)
        other.step(SILENCE, seed=0)
        assert other.report()["turns"] == [True]
    assert env.report()["turns"] == [False]
