from dataclasses import replace

import torch

from handaxe.doctor.finding import Thresholds
from handaxe.doctor.played import check_played, play_steps, unchanged
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.faults import faulty
from handaxe.tools.calculator import calculator
from handaxe.worlds.sums import sums


def weights(engine):
    return {name: value.clone() for name, value in engine.model.module.state_dict().items()}


def same(found, before):
    return all(torch.equal(value, before[name]) for name, value in found.items())


def test_a_step_is_played_and_everything_put_back(made):
    engine, before = made["engine"], weights(made["engine"])
    state = made["tasks"].state_dict()
    with unchanged(engine, (), [made["tasks"]]) as kept:
        found = play_steps(made, steps=2, groups=2)
        assert engine.version == 2 and any(
            not torch.equal(value, before[name]) for name, value in weights(engine).items()
        )
    assert engine.version == 0 and all(torch.equal(value, before[name]) for name, value in weights(engine).items())
    assert made["tasks"].state_dict() == state and kept.bytes > 4 * 800_000 and kept.seconds > 0
    assert [len(step) for step in found.steps] == [2, 2] and len(found.attempts) == 16
    assert len(found.walls) == len(found.metrics) == 2 and min(found.walls) > 0
    step = check_played(found)
    assert step.level == "ok" and "2 played and trained, 16 attempts in 4 groups" in step.found


def test_a_tool_that_always_dies(made):
    broken = sums().env([faulty(calculator, crash=1.0, hang=0, garbage=0, kill=0)])
    with unchanged(made["engine"], (), [made["tasks"]]):
        found = play_steps({**made, "env": broken}, steps=1, groups=4)
    step = check_played(found, limits=Thresholds(failed=(0.0, 0.01)))
    assert step.level == "wrong" and "crash on purpose" in step.found, step


def test_a_reward_that_raises_and_a_tool_that_cannot_be_made(made):
    def broken(group):
        raise ZeroDivisionError("no siblings")

    def unmade():
        raise ConnectionError("the server is down")

    with unchanged(made["engine"], (), [made["tasks"]]):
        found = play_steps({**made, "reward": broken}, steps=1, groups=2)
        lost = play_steps({**made, "env": lambda task: tool_chat([unmade])(task)}, steps=1, groups=2)
    step = check_played(found)
    assert step.level == "wrong" and "ZeroDivisionError: no siblings" in step.found and not found.walls
    assert "the server is down" in check_played(lost).found


def test_attempts_that_fail_now_and_then(played):
    assert check_played(played).level == "ok"
    first = played.steps[0][0]
    ended = replace(first.group[0].ending, kind="infra_error", reason="the sandbox died")
    group = replace(first.group, trajectories=(replace(first.group[0], ending=ended), *first.group.trajectories[1:]))
    some = replace(played, steps=[[replace(first, group=group), *played.steps[0][1:]]])
    found = check_played(some)
    assert found.level == "wrong" and "1 could not be scored, the first: the sandbox died" in found.found
    assert check_played(some, limits=Thresholds(failed=(0.0, 0.5))).level == "look"
