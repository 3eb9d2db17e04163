"""World of ScienceWorld, in the package's real simulator."""

import dataclasses
import json
import os
import shutil
import signal
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.scienceworld.openings import WITHOUT_GOLD, Openings
from handaxe.worlds.scienceworld.simulator_pool import SimulatorPool
from handaxe.worlds.scienceworld.simulator_process import HouseScene, check_installed
from handaxe.worlds.scienceworld.way_back import WayBack
from handaxe.worlds.scienceworld.world import KINDS, SHORT, scienceworld

LIFE = tuple(kind for kind in SHORT if kind.startswith("lifespan"))


def do(*actions):
    return ParsedTurn("", tuple(ToolCall("do", {"action": one}, f"c{n}") for n, one in enumerate(actions)))


def opened(world, task):
    env = world.env(())(task)
    env.start()
    return env


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs scienceworld and py4j: pip install 'handaxe\[scienceworld\]'"):
        check_installed()


def test_a_missing_java_is_one_sentence(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="Java, which is missing: apt-get install openjdk-17-jre-headless"):
        scienceworld()


def test_arguments_out_of_range_raise():
    for kinds in ((), ("fly",), ("boil", "boil")):
        with pytest.raises(InputError, match="kinds are some of boil, "):
            scienceworld(kinds=kinds)
    for options in ({"variations": 0}, {"held_out": "train"}):
        with pytest.raises(InputError, match="variations is 1 or more and held_out dev or test"):
            scienceworld(**options)
    with pytest.raises(InputError, match="simplifications are some of easy, "):
        scienceworld(simplifications=("easier",))


@pytest.mark.slow
@pytest.mark.usefixtures("scienceworld_cache")
class TestInTheSimulator:
    @pytest.fixture(scope="class")
    def world(self):
        return scienceworld(kinds=("find-plant", *LIFE), variations=3)

    def task(self, world, kind):
        return next(task for task in world.tasks("train", 12, 0) if task.metadata["kind"] == kind)

    def test_scienceworld_keeps_the_world_contract(self, world):
        check_world(world, count=6)

    def test_splits_are_the_packages(self, world):
        openings = Openings(SimulatorPool())
        for held_out in ("dev", "test"):
            chosen = scienceworld(kinds=("power-component",), variations=2, held_out=held_out)
            for split, side in (("train", "train"), ("test", held_out)):
                found = {task.metadata["scene"][1] for task in chosen.tasks(split, 4, 0)}
                assert len(found) == 2 and found <= set(openings.variations("power-component", side))
        sides = [set(openings.variations("power-component", side)) for side in ("train", "dev", "test")]
        assert [len(one) for one in sides] == [10, 5, 5] and len(set().union(*sides)) == 20

    def test_kinds_are_the_packages(self):
        file = Path(find_spec("scienceworld").origin).with_name("tasks.json")
        assert {one["task_name"] for one in json.loads(file.read_text())} == set(KINDS)

    def test_the_expert_returns_to_the_path_after_other_actions(self, world):
        task = self.task(world, "find-plant")
        path = task.metadata["path"]
        env = opened(world, task)
        detour = [*path[:2], "go to hallway", "go to art studio", "look around", "pick up picture"]
        facts = env.step(do(*detour), seed=0).facts
        for turn in range(1, 20):
            message = world.expert(task, {**facts, "turn": turn, "tools": ["do"]})
            reply = env.step(ParsedTurn("", message.calls), seed=0)
            facts = reply.facts
            if reply.done:
                break
        assert facts["score"] == 100 and env.report()["state"]["Episode"]["over"]
        env.close()

    def test_no_way_leads_back_from_a_lost_episode(self, world):
        task = self.task(world, "lifespan-longest-lived")
        scene, pool = HouseScene(*task.metadata["scene"]), SimulatorPool()
        env = opened(world, task)
        reply = env.step(do("focus on agent", "look around"), seed=0)
        assert reply.done and [one.status for one in reply.replies] == ["ok", "retry"]
        assert reply.replies[0].content == "lost" and reply.facts["score"] == -100
        assert WayBack(pool, Openings(pool)).find(scene, ["focus on agent"]) == ()
        env.close()

    def test_score_and_criteria_grow_along_the_path(self, world):
        task = self.task(world, "find-plant")
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=20)
        scores = [turn.facts["score"] for turn in one.turns]
        assert scores == sorted(scores) and scores[-1] == 100 and len(set(scores)) > 3
        met_CN = world.check(one, world.criteria(task))
        assert met_CN.shape == (len(task.metadata["goals"]), len(one.turns)) and met_CN[:2, -1].all()
        assert 0 < met_CN[:, 0].sum() < met_CN[:, -1].sum()
        assert [world.gauges[name].top(one, 1.0) for name in ("actions", "progress", "unknown")] == [
            len(task.metadata["path"]),
            1,
            0,
        ]

    def test_unknown_actions_fail_and_change_nothing(self, world):
        task = self.task(world, "find-plant")
        env = opened(world, task)
        reply = env.step(do("fly to the moon", " ", f"  {task.metadata['path'][0]} "), seed=0)
        assert [one.status for one in reply.replies] == ["failed", "failed", "ok"]
        assert reply.facts["actions"] == task.metadata["path"][:1]
        assert env.report()["state"]["Episode"]["unknown"] == 1
        env.close()

    def test_a_branch_continues_from_the_snapshots_state(self, world):
        task = self.task(world, "find-plant")
        path = task.metadata["path"]
        trunk, branch = opened(world, task), opened(world, task)
        trunk.step(do(*path[:2]), seed=0)
        branch.restore(trunk.snapshot())
        replies = [env.step(do(*path[2:]), seed=0) for env in (trunk, branch)]
        assert replies[0].messages == replies[1].messages and replies[1].done
        assert trunk.report() == branch.report() and branch.report()["state"]["Episode"]["score"] == 100

    def test_a_dead_simulator_ends_the_rollout_as_infra_error(self):
        world = scienceworld(kinds=LIFE[:1], variations=2)
        task, _ = world.tasks("train", 2, 0)
        pools = [cell.cell_contents for cell in world.expert.__closure__]
        pool = pools[0]._pool
        pool.play(HouseScene(*task.metadata["scene"]), ["wait1"])
        (pid,) = pool.processes()
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
        expert = lambda task, facts: Message("assistant", "", do("examine air").calls)  # noqa: E731
        one = demonstrate(world.env(()), task, expert, format=Compact())
        assert one.ending.kind == "infra_error" and "the Java process of ScienceWorld died" in one.ending.reason
        again = demonstrate(world.env(()), task, world.expert, format=Compact())
        assert again.ending.kind == "completed" and world.correct(Group(task, (again,))).outcome.tolist() == [1]

    def test_prose_is_the_packages_own_text(self):
        world = scienceworld(kinds=("find-plant",), variations=2, brief=False)
        (task,) = world.tasks("train", 1, 0)
        assert world.start is None and "Your task is to find a(n) plant." in task.messages[0].content
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=20)
        assert one.messages[-1].content.endswith("The task is completed.")
        env = opened(world, task)
        assert "\n\tthe agent\n" in env.step(do("look around"), seed=0).messages[-1].content
        env.close()

    def test_long_kinds_have_an_expert_and_kinds_without_gold_have_none(self):
        world = scienceworld(kinds=("chemistry-mix-paint-secondary-color",), variations=2)
        (task,) = world.tasks("test", 1, 0)
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=64)
        assert world.correct(Group(task, (one,))).outcome.tolist() == [1] and world.start is None
        assert scienceworld(kinds=("boil", WITHOUT_GOLD[0])).expert is None

    def test_tasks_are_equal_without_the_cache(self, world, tmp_path, monkeypatch):
        kept = world.tasks("test", 3, 5)
        monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
        fresh = scienceworld(kinds=("find-plant", *LIFE), variations=3).tasks("test", 3, 5)
        assert [dataclasses.asdict(one) for one in fresh] == [dataclasses.asdict(one) for one in kept]

    def test_further_tools_are_offered(self, world):
        env = world.env((calculator,))(self.task(world, "find-plant"))
        assert [one.name for one in env.start()[1]] == ["do", "calculator"]
        env.close()

    def test_an_empty_data_set_raises(self, world):
        with pytest.raises(TaskError, match="empty"):
            world.tasks("train", 0, 0)
