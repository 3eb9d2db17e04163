import json
import statistics

import numpy as np
import pytest

pytest.importorskip("minigrid")

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Branch, Group, Message, ParsedTurn, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.rollouts import driver
from handaxe.rollouts.forking import forking
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.worlds import check_world
from handaxe.worlds.minigrid_text.grid import start_grid
from handaxe.worlds.minigrid_text.world import minigrid_text
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(scope="module")
def world():
    return minigrid_text()


def act(*words):
    return ParsedTurn("", tuple(ToolCall("act", {"word": one}, f"c{n}") for n, one in enumerate(words)))


def played(world, task, words):
    told = iter(words)

    def says(task, facts):
        word = next(told, None)
        return Message("assistant", "no idea") if word is None else Message("assistant", "", act(word).calls)

    return demonstrate(world.env(()), task, says, format=Compact(), max_turns=len(words) + 1)


def way_of(task):
    return start_grid("doorkey", 5, task.metadata["grid"], brief=True).way


def test_doorkey_keeps_the_world_contract(world):
    check_world(world, count=12)


@pytest.mark.parametrize("options", [{"kind": "fourrooms", "longest": 12}, {"kind": "keycorridor", "longest": 20}])
def test_other_kinds_keep_the_world_contract(options):
    check_world(minigrid_text(**options, grids=80, brief=False), count=3)


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "multiroom", "size": 3, "longest": 20},
        {"kind": "crossing", "size": 9, "longest": 20},
        {"kind": "doorkey", "size": 8, "longest": 20},
    ],
)
def test_long_kinds_keep_the_world_contract_and_take_eight_turns_and_more(options):
    world = minigrid_text(**options, grids=60)
    check_world(world, count=3)
    assert statistics.median(task.metadata["length"] for task in world.tasks("train", 9, 0)) >= 8
    assert world.start_turns >= options["longest"] and world.start_context > 512


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"kind": "unlockpickup", "longest": 20},
        {"kind": "obstructedmaze", "size": 2, "longest": 24},
        {"kind": "multiroom", "size": 6, "longest": 40},
        {"kind": "blockedunlockpickup", "longest": 28},
        {"kind": "obstructedmaze", "size": 3, "longest": 32},
        {"kind": "lockedroom", "longest": 60},
    ],
)
def test_the_longest_kinds_keep_the_world_contract(options):
    """Random actions of the expert never destroy a box."""
    check_world(minigrid_text(**options, grids=60, astray=0.1, brief=False), count=4)


def test_ten_actions_keep_the_policys_context(world):
    assert world.start_turns == 12 and world.start_context == 512


def test_doors_without_a_lock_are_criteria():
    world = minigrid_text(kind="multiroom", size=3, longest=20, astray=0.0, grids=60)
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=30)
    met_CN = world.check(one, criteria := world.criteria(task))
    assert sorted(one.name for one in criteria) == ["door 0", "door 1", "end"]
    assert met_CN[:, -1].all() and met_CN.sum(axis=1).min() == 1 == met_CN[-1].sum()


def test_a_destroyed_box_leaves_the_whole_path():
    world = minigrid_text(kind="unlockpickup", longest=24, astray=0.0, grids=60)
    (task,) = world.tasks("train", 1, 0)
    way = start_grid("unlockpickup", 6, task.metadata["grid"], brief=True).way
    one = played(world, task, [*way[:-1], "toggle"])
    assert one.env["state"]["GridGame"]["won"] is False
    assert world.gauges["left"].top(one, 0.0) == task.metadata["length"] == len(way)


def test_only_a_complete_shortest_path_is_correct(world):
    for task in world.tasks("train", 3, 0):
        way = way_of(task)
        assert task.metadata["length"] == len(way) <= 10
        paid = [world.correct(Group(task, (played(world, task, words),))).outcome[0] for words in (way, way[:-1])]
        assert paid == [1, 0]


def test_an_action_without_effect_fails(world):
    (task,) = world.tasks("train", 1, 0)
    env = world.env(())(task)
    env.start()
    reply = env.step(act("drop", "left", "fly"), seed=0)
    assert [one.status for one in reply.replies] == ["failed", "ok", "failed"]
    assert reply.replies[0].content == "nothing happens"
    assert json.loads(json.dumps(reply.facts)) == reply.facts and not reply.done
    assert env.report()["state"]["GridGame"]["steps"] == 2
    env.close()


def test_the_expert_strays_at_the_given_rate_and_solves_the_grid(world):
    """Random actions do not prevent the solution."""
    tasks = world.tasks("train", 12, 0)
    straight = minigrid_text(astray=0.0)
    for task in tasks:
        one = demonstrate(straight.env(()), task, straight.expert, format=Compact(), max_turns=20)
        assert len(one.turns) == task.metadata["length"]
    turns = [len(demonstrate(world.env(()), t, world.expert, format=Compact(), max_turns=64).turns) for t in tasks]
    assert sum(turns) > 1.2 * sum(task.metadata["length"] for task in tasks)


def test_criteria_are_goals_or_path_actions(world):
    (task,) = world.tasks("train", 1, 0)
    way = way_of(task)
    one = played(world, task, ["drop", *way])
    criteria = world.criteria(task)
    met_CN = world.check(one, criteria)
    assert [one.name for one in criteria] == ["key", "door", "end"] and met_CN.shape == (3, len(way) + 1)
    assert met_CN.argmax(axis=1).tolist() == [1 + way.index("pickup"), 1 + way.index("toggle"), len(way)]
    path = minigrid_text(marks="path")
    judge = earned_steps(criteria=path.criteria, check=path.check)
    detour = ["left", "right", *way]
    (labels,) = judge.score_steps(Group(task, (played(world, task, detour),)))
    nearer = way[0] == "left"
    assert labels.tolist() == [1 if nearer else -1, -1, *[-1 if nearer and n == 0 else 1 for n in range(len(way))]]


def test_gauges_count_steps_effects_and_missing_actions(world):
    (task,) = world.tasks("train", 1, 0)
    way = way_of(task)
    one = played(world, task, ["drop", *way[:-1]])
    said = {name: (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for name, gauge in world.gauges.items()}
    assert said == {"actions": (len(way), 1.0), "executed": (len(way) - 1, len(way)), "left": (1, 1.0)}


def test_a_forked_rollout_continues_from_the_branch_state(world):
    (task,) = world.tasks("train", 1, 0)
    env = world.env(())(task)
    (schema,) = env.start()[1]
    env.close()
    script = [ToolCall("act", {"word": word}) for word in way_of(task)]
    attempt = Attempt(
        task=task, env=world.env(()), format=Compact(), sampling=Sampling(), id="t/0", sample=0, seed=7, context=512
    )

    def later(trunk):
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in trunk.turns[-2:]]

    engine = ScriptedEngine(Compact(), script, tools=[schema])
    ((trunk, *branches),) = driver.run([attempt], forking(at=later, max_turns=12), engine)
    assert [one.env for one in branches] == [trunk.env] * 2 and trunk.env["state"]["GridGame"]["won"]


def test_twelve_turns_fit_the_tiny_policys_context(world):
    """For the expert's actions; a longer reply than usual may cost a rollout its last turn."""
    long = [
        len(demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=12).sequences[0].ids)
        for task in world.tasks("train", 20, 0)
    ]
    assert np.max(long) <= 512


def test_invalid_arguments_raise(world):
    with pytest.raises(TaskError, match="empty"):
        world.tasks("train", 0, 0)
    for options in ({"kind": "maze"}, {"size": 4}, {"kind": "fourrooms", "size": 9}):
        with pytest.raises(InputError, match="one of"):
            minigrid_text(**options)
    for options in ({"longest": 0}, {"astray": 1.0}, {"marks": "all"}, {"grids": 4}):
        with pytest.raises(InputError, match="longest is 1 or more"):
            minigrid_text(**options)
    with pytest.raises(InputError, match="has a way of 2 acts"):
        minigrid_text(longest=2, grids=50).tasks("test", 1, 0)
    with pytest.raises(ToolDefinitionError, match="is no tool"):
        world.env((3,))
