import gc
import tempfile
from dataclasses import replace

import pytest
import torch
from helpers.group_records import with_rollouts

from handaxe.doctor.finding import Thresholds
from handaxe.doctor.trial_steps import check_steps, restored_state, run_trial
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.build import build
from handaxe.methods.run_spec import run_template
from handaxe.testing.faults import faulty
from handaxe.tools.calculator import calculator
from handaxe.worlds.arithmetic import arithmetic


def weights(engine):
    return {name: value.clone() for name, value in engine.model.module.state_dict().items()}


def same(found, before):
    return all(torch.equal(value, before[name]) for name, value in found.items())


@pytest.mark.slow
def test_trial_steps_train_and_state_is_restored(made):
    engine, before = made["engine"], weights(made["engine"])
    state = made["tasks"].state_dict()
    with restored_state(engine, (), [made["tasks"]]) as kept:
        found = run_trial(made, steps=2, groups=2)
        assert engine.version == 2 and any(
            not torch.equal(value, before[name]) for name, value in weights(engine).items()
        )
    assert engine.version == 0 and all(torch.equal(value, before[name]) for name, value in weights(engine).items())
    assert made["tasks"].state_dict() == state and kept.bytes > 4 * 800_000 and kept.seconds > 0
    assert [len(step) for step in found.steps] == [2, 2] and len(found.rollouts) == 16
    assert len(found.walls) == len(found.metrics) == 2 and min(found.walls) > 0
    step = check_steps(found)
    assert step.level == "ok" and "2 played and trained, 16 rollouts in 4 groups" in step.found


@pytest.mark.slow
def test_images_can_be_read_as_long_as_the_trial_is_kept(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    small = {"model": "tiny_vision", "groups": 1, "group_size": 2, "held_out": 2, "steps": 1}
    arguments = build(run_template("grpo_no_kl", world="plates").read(small))
    with restored_state(arguments["engine"], (), [arguments["tasks"]]):
        found = run_trial(arguments, steps=1, groups=1)
    assert not found.error and found.rollouts[0].images[0].pixels.shape == (32, 32, 3)
    del found
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_tool_that_always_crashes_is_an_error(made):
    broken = arithmetic().env([faulty(calculator, crash=1.0, hang=0, garbage=0, kill=0)])
    with restored_state(made["engine"], (), [made["tasks"]]):
        found = run_trial({**made, "env": broken}, steps=1, groups=4)
    step = check_steps(found, limits=Thresholds(failed=(0.0, 0.01)))
    assert step.level == "error" and "crash on purpose" in step.found, step


def test_reward_that_raises_and_tool_that_cannot_start_are_errors(made):
    def broken(group):
        raise ZeroDivisionError("no siblings")

    def unmade():
        raise ConnectionError("the server is down")

    with restored_state(made["engine"], (), [made["tasks"]]):
        found = run_trial({**made, "reward": broken}, steps=1, groups=2)
        lost = run_trial({**made, "env": lambda task: tool_chat([unmade])(task)}, steps=1, groups=2)
    step = check_steps(found)
    assert step.level == "error" and "ZeroDivisionError: no siblings" in step.found and not found.walls
    assert "the server is down" in check_steps(lost).found


def test_failed_rollouts_are_graded_by_share(played):
    assert check_steps(played).level == "ok"
    first = played.steps[0][0]
    ended = replace(first.group[0].ending, kind="infra_error", reason="the sandbox died")
    group = replace(first.group, trajectories=(replace(first.group[0], ending=ended), *first.group.trajectories[1:]))
    some = replace(played, steps=[[with_rollouts(first, group), *played.steps[0][1:]]])
    found = check_steps(some)
    assert found.level == "error" and "1 could not be scored, the first: the sandbox died" in found.found
    assert check_steps(some, limits=Thresholds(failed=(0.0, 0.5))).level == "warning"
