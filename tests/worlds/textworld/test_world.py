"""Games of textworld, played for real: a handful of small games, shared by this session."""

import itertools

import pytest

pytest.importorskip("textworld")

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Branch, Group, Message, ParsedTurn, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts import driver
from handaxe.rollouts.forking import forking
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.textworld.world import textworld

SMALL = {"rooms": 5, "length": 3, "games": 24}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def world():
    return textworld(**SMALL)


def do(*commands):
    return ParsedTurn("", tuple(ToolCall("do", {"command": one}, f"c{n}") for n, one in enumerate(commands)))


def opened(world, task):
    env = world.env(())(task)
    env.start()
    return env


@pytest.mark.slow
def test_textworld_keeps_the_world_contract(world):
    check_world(world, count=12)


def test_the_expert_wins_after_a_detour(world):
    for task in world.tasks("train", 8, 0):
        env = opened(world, task)
        for command in ("go north", "go east", "go south", "go west"):
            reply = env.step(do(command), seed=0)
        facts = {**reply.facts, "turn": 4, "tools": ["do"]}
        for turn in range(12):
            assert not reply.done
            reply = env.step(ParsedTurn("", world.expert(task, facts).calls), seed=0)
            facts = {**reply.facts, "turn": 5 + turn, "tools": ["do"]}
            if reply.done:
                break
        assert env.report()["state"]["Game"]["won"] and reply.messages[-1].content == "you won"
        env.close()


def test_another_thing_loses_and_only_a_win_scores(world):
    lost = paid = 0
    for task in world.tasks("train", 12, 0):
        way = task.metadata["walkthrough"]
        for says in (way[:-1], [*way[:-1], way[-1] + " x"]):
            told = iter(says)
            one = demonstrate(world.env(()), task, lambda task, facts: _say(next(told, None)), format=Compact())
            paid += world.correct(Group(task, (one,))).outcome[0]
        env = opened(world, task)
        for command in way[:-1]:
            seen = env.step(do(command), seed=0).messages[-1].content if len(way) > 1 else task.messages[0].content
        wrong = [one for one in seen.partition(": ")[2].split(", ") if one.startswith("take") and one != way[-1]]
        if wrong:
            reply = env.step(do(wrong[0]), seed=0)
            lost += reply.done and reply.messages[-1].content == "you lost"
            assert not env.report()["state"]["Game"]["won"]
        env.close()
    assert paid == 0 and lost >= 1


def _say(command):
    return Message("assistant", "no idea") if command is None else Message("assistant", "", do(command).calls)


@pytest.mark.parametrize("brief", [True, False], ids=["key words", "own text"])
def test_a_branch_continues_from_the_snapshots_state(world, brief):
    """A fork has the snapshot's environment: its replies and report are the trunk's from there on."""
    chosen = world if brief else textworld(**SMALL, brief=False)
    (task,) = chosen.tasks("train", 1, 0)
    way = task.metadata["walkthrough"]
    trunk = opened(chosen, task)
    trunk.step(do(way[0]), seed=0)
    state, reported = trunk.snapshot(), trunk.report()
    rest = [trunk.step(do(command), seed=0) for command in way[1:]]
    branch = opened(chosen, task)
    branch.restore(state)
    assert branch.report() == reported
    again = [branch.step(do(command), seed=0) for command in way[1:]]
    assert [(r.messages, r.facts, r.done) for r in again] == [(r.messages, r.facts, r.done) for r in rest]
    assert rest[-1].done and branch.report() == trunk.report() != reported
    trunk.restore(state)
    assert trunk.report() == reported
    for env in (trunk, branch):
        env.close()


def test_a_forked_rollout_wins_from_the_middle(world):
    """Each branch begins before a later turn of the trunk, and fails without the state at its start."""
    task = next(one for one in world.tasks("train", 8, 0) if one.metadata["length"] == 3)
    env = opened(world, task)
    (schema,) = env.start()[1]
    env.close()
    script = [ToolCall("do", {"command": command}) for command in task.metadata["walkthrough"]]
    attempt = Attempt(
        task=task, env=world.env(()), format=Compact(), sampling=Sampling(), id="t/0", sample=0, seed=7, context=512
    )

    def later(trunk):
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in trunk.turns[1:]]

    engine = ScriptedEngine(Compact(), script, tools=[schema])
    ((trunk, *branches),) = driver.run([attempt], forking(at=later, max_turns=4), engine)
    assert len(branches) == 2 and [one.env for one in branches] == [trunk.env] * 2
    assert trunk.env["state"]["Game"] == {"policy_commands": [], "won": True, "lost": False, "steps": 3, "left": 0}


def test_hints_list_a_share_of_the_winning_commands_in_order(world):
    for share, count in ((0.5, 1), (1.0, 2)):
        hinted = textworld(**SMALL, hints=share)
        for task, plain in zip(hinted.tasks("train", 8, 0), world.tasks("train", 8, 0), strict=True):
            way = task.metadata["walkthrough"]
            if len(way) != 3:
                continue
            text, _, listed = task.messages[0].content.partition("\npath ")
            assert text == plain.messages[0].content
            assert tuple(listed.split(", ")) in itertools.combinations(way[:-1], count)
    prose = textworld(**SMALL, hints=1.0, brief=False).tasks("train", 8, 0)
    assert any(f"Commands on the way: {', '.join(task.metadata['walkthrough'][:-1])}" in str(task) for task in prose)


def test_criteria_are_the_commands_of_a_shortest_path(world):
    """A step back meets nothing, and losing meets nothing further."""
    task = next(one for one in world.tasks("train", 8, 0) if one.metadata["length"] == 3)
    way = iter(["look", *task.metadata["walkthrough"]])
    one = demonstrate(world.env(()), task, lambda task, facts: _say(next(way)), format=Compact())
    met_CN = world.check(one, criteria := world.criteria(task))
    assert [one.name for one in criteria] == ["2 left", "1 left", "0 left"]
    assert met_CN.tolist() == [[False] * (n + 1) + [True] * (3 - n) for n in range(3)]


def test_a_long_path_has_a_longer_demonstration_and_context():
    long = textworld(rooms=12, length=12, games=8)
    assert (long.start_turns, long.start_context) == (15, 1440)
    assert (textworld().start_turns, textworld().start_context) == (8, 512)


@pytest.mark.slow
def test_a_long_game_has_doors_and_eight_commands():
    world = textworld(kind="medium", rooms=8, length=8, shortest=8, games=12, hints=0.5)
    check_world(world, count=4)
    commands = [one for task in world.tasks("train", 4, 0) for one in task.metadata["walkthrough"]]
    assert len(commands) == 32 and any(one.startswith("open ") for one in commands)


def test_the_long_form_is_the_games_own_text(world):
    chosen = textworld(**SMALL, brief=False)
    (task,) = chosen.tasks("train", 1, 0)
    assert "Find the" in task.messages[0].content and chosen.start is None
    env = opened(chosen, task)
    said = env.step(do("look"), seed=0).messages[-1].content
    assert said.startswith("-=") and ">" not in said and "\n\n" not in said
    assert "verb" in env.step(do("frobnicate"), seed=0).messages[-1].content
    env.close()


def test_impossible_commands_are_reported_and_several_run_in_order(world):
    (task,) = world.tasks("train", 1, 0)
    way = task.metadata["walkthrough"]
    env = opened(world, task)
    reply = env.step(do("fly", *way, "look"), seed=0)
    assert [one.status for one in reply.replies] == ["retry", *["ok"] * len(way), "retry"]
    assert reply.done and reply.messages[-1].content.endswith("the game is over")
    env.close()


def test_further_tools_are_offered(world):
    (task,) = world.tasks("train", 1, 0)
    env = world.env((calculator,))(task)
    assert [tool.name for tool in env.start()[1]] == ["do", "calculator"]
    env.close()
    with pytest.raises(ToolDefinitionError, match="is no tool"):
        world.env((3,))


def test_invalid_arguments_raise(world):
    with pytest.raises(TaskError, match="empty"):
        world.tasks("train", 0, 0)
    for options in ({"hints": 1.5}, {"shortest": 0}, {"shortest": 3}):
        with pytest.raises(InputError, match="hints is a share of the winning commands"):
            textworld(**options)
    for options in ({"kind": "cosy"}, {"rooms": 0}, {"length": 6}, {"games": 2}):
        with pytest.raises(InputError, match="easy, medium or hard"):
            textworld(**options)
