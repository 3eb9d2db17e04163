"""Games of textarena, played for real."""

import pytest

pytest.importorskip("textarena")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Branch, Group, Message, ParsedTurn, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.rollouts import driver
from handaxe.rollouts.forking import forking
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.textarena.game import find_plan
from handaxe.worlds.textarena.world import WITH_EXPERT, textarena

QUICK = ("FrozenLake-v0-random", "GuessTheNumber-v0", "LightsOut-v0", "Mastermind-v0", "TowerOfHanoi-v0")


@pytest.fixture(scope="module")
def world():
    return textarena(games=QUICK, instances=400)


def play(*actions):
    return ParsedTurn("", tuple(ToolCall("play", {"action": one}, f"c{n}") for n, one in enumerate(actions)))


def plan_of(task):
    return find_plan(task.metadata["game"], task.metadata["state"], task.metadata["secret"])


def played(world, task, actions):
    told = iter(actions)

    def says(task, facts):
        action = next(told, None)
        return Message("assistant", "no idea") if action is None else Message("assistant", "", play(action).calls)

    return demonstrate(world.env(()), task, says, format=Compact(), max_turns=len(actions) + 1, context=1024)


def test_quick_games_keep_the_world_contract(world):
    check_world(world, count=10)


@pytest.mark.slow
def test_all_games_with_an_expert_keep_the_world_contract():
    check_world(textarena(games=WITH_EXPERT), count=54)


@pytest.mark.slow
def test_the_games_own_text_keeps_the_world_contract():
    check_world(textarena(games=WITH_EXPERT, brief=False), count=18)


def test_games_without_an_expert_keep_the_world_contract():
    games = ("2048-v0-ultra-easy", "Blackjack-v0", "Minesweeper-v0-small", "Secretary-v0", "ThreeCardMonte-v0")
    chosen = textarena(games=games)
    check_world(chosen, count=10)
    assert chosen.expert is None and chosen.start is None and chosen.criteria is None and "left" not in chosen.gauges


@pytest.mark.parametrize("name", [one for one in WITH_EXPERT if one not in ("RushHour-v0", "Sudoku-v0-very-easy")])
def test_contents_of_each_game_are_in_one_split(name):
    """Both splits have several contents, and share none."""
    chosen = textarena(games=(name,), instances=100)
    seen = [
        {repr((task.metadata["state"], task.metadata["secret"])) for task in chosen.tasks(split, 40, seed)}
        for split in ("train", "test")
        for seed in (0,)
    ]
    assert not seen[0] & seen[1] and len(seen[0]) > len(seen[1]) > 1


def test_only_a_complete_plan_is_correct(world):
    for task in world.tasks("train", 5, 0):
        plan = plan_of(task)
        assert task.metadata["length"] == len(plan) <= 8
        paid = [world.correct(Group(task, (played(world, task, some),))).outcome[0] for some in (plan, plan[:-1])]
        assert paid == [1, 0]


def test_a_hole_in_the_lake_loses_with_a_partial_reward(world):
    task = world.tasks("train", 1, 0)[0]
    assert task.metadata["game"] == "FrozenLake-v0-random"
    state, losing = task.metadata["state"], None
    steps = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    at, way = tuple(state["at"]), []
    for action in plan_of(task):
        for word, (down, right) in steps.items():
            row, column = at[0] + down, at[1] + right
            if losing is None and 0 <= row < 4 and 0 <= column < 4 and state["rows"][row][column] == "H":
                losing = [*way, word]
        way.append(action)
        at = (at[0] + steps[action][0], at[1] + steps[action][1])
    one = played(world, task, losing)
    report = one.env["state"]["ArenaGame"]
    assert report["over"] and not report["won"] and 0 <= report["reward"] < 1
    assert world.gauges["left"].top(one, 0.0) == task.metadata["length"]
    assert world.check(one, world.criteria(task))[-1].tolist() == [False] * len(one.turns)


def test_criteria_follow_the_missing_actions(world):
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["game"] == "TowerOfHanoi-v0")
    plan = plan_of(task)
    criteria = world.criteria(task)
    assert [one.name for one in criteria] == [f"{n} left" for n in reversed(range(len(plan)))]
    met_CN = world.check(played(world, task, plan), criteria)
    assert met_CN.argmax(axis=1).tolist() == list(range(len(plan))) and met_CN[:, -1].all()
    judge = earned_steps(criteria=world.criteria, check=world.check)
    back = " ".join(reversed(plan[0].split()))
    (labels,) = judge.score_steps(Group(task, (played(world, task, [plan[0], back, *plan]),)))
    assert labels.tolist() == [1, -1, -1, *[1] * (len(plan) - 1)]


def test_the_expert_wins_after_a_detour(world):
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["game"] == "LightsOut-v0")
    env = world.env(())(task)
    env.start()
    reply = env.step(play("0 0", "3 1"), seed=0)
    for _ in range(12):
        facts = {**reply.facts, "turn": 1, "tools": ["play"]}
        reply = env.step(ParsedTurn("", world.expert(task, facts).calls), seed=0)
        if reply.done:
            break
    assert env.report()["state"]["ArenaGame"]["won"] and reply.messages[-1].content == "won"
    env.close()


def test_rejected_actions_lower_the_share_of_accepted_ones(world):
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["game"] == "GuessTheNumber-v0")
    plan = plan_of(task)
    one = played(world, task, ["99", *plan])
    top, bottom = world.gauges["accepted"]
    assert top(one, 1.0) == len(plan) and bottom(one, 1.0) == len(plan) + 1
    assert [reply.status for reply in one.replies] == ["failed", *["ok"] * len(plan)]


def test_a_failing_game_ends_as_infra_error(world, monkeypatch):
    task = world.tasks("train", 1, 0)[0]
    arena = pytest.importorskip("textarena.envs.FrozenLake.env").FrozenLakeEnv
    monkeypatch.setattr(arena, "_execute_move", lambda self, word: 1 / 0)
    one = played(world, task, plan_of(task))
    assert one.ending.kind == "infra_error" and len(one.turns) == 1


def test_a_forked_rollout_wins_from_the_middle(world):
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["length"] == 4)
    env = world.env(())(task)
    (schema,) = env.start()[1]
    env.close()
    script = [ToolCall("play", {"action": action}) for action in plan_of(task)]
    attempt = Attempt(
        task=task, env=world.env(()), format=Compact(), sampling=Sampling(), id="t/0", sample=0, seed=7, context=1024
    )

    def later(trunk):
        return [Branch(trunk.id, turn.sequence, turn.start) for turn in trunk.turns[1:]]

    engine = ScriptedEngine(Compact(), script, tools=[schema])
    ((trunk, *branches),) = driver.run([attempt], forking(at=later, max_turns=5), engine)
    assert len(branches) == 3 and [one.env for one in branches] == [trunk.env] * 3
    assert trunk.env["state"]["ArenaGame"]["won"]


def test_invalid_arguments_raise(world):
    with pytest.raises(TaskError, match="empty"):
        world.tasks("train", 0, 0)
    with pytest.raises(InputError, match="longest is 1 or more and instances 8 or more for each game"):
        textarena(longest=0)
    with pytest.raises(InputError, match="for 5 games"):
        textarena(games=QUICK, instances=39)
    with pytest.raises(InputError, match="each once"):
        textarena(games=())
    with pytest.raises(InputError, match="of 60 instances of FrozenLake-v0-random, none to train has a plan of 2"):
        textarena(games=("FrozenLake-v0-random",), instances=60, longest=2).tasks("train", 1, 0)
