import json
import shutil

import numpy as np
import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.training.record.checkpoint import Checkpoints


class Part:
    def __init__(self, state=None):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def test_everything_comes_back(world, tmp_path):
    state = {
        "mean": np.array([1.5, 2.5]),
        "table": [{"a": torch.arange(3)}, (1, None, True)],
        "exact": 0.1 + 0.2,
        "big": 2**80,
        "inf": float("inf"),
    }
    engine = world.make_engine()
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(7, engine, {"tasks": Part(state), "loss": world.reinforce})
    other, part = world.make_engine(seed=1), Part()
    assert not world.same(world.weights(engine), world.weights(other))
    assert checkpoints.load(other, {"tasks": part, "loss": world.reinforce}) == 7
    assert world.same(world.weights(engine), world.weights(other))
    back = part.state
    assert back["mean"].dtype == np.float64 and back["mean"].tolist() == [1.5, 2.5]
    assert back["table"][0]["a"].tolist() == [0, 1, 2] and back["table"][1] == [1, None, True]
    assert (back["exact"], back["big"], back["inf"]) == (state["exact"], 2**80, float("inf"))


def test_the_engine_alone(world, tmp_path):
    engine, other = world.make_engine(), world.make_engine(seed=1)
    Checkpoints(tmp_path).save(3, engine, {"tasks": Part({"n": 1})})
    assert Checkpoints(tmp_path).load(other) == 3 and world.same(world.weights(engine), world.weights(other))


def test_without_a_checkpoint_nothing_changes(world, tmp_path):
    engine = world.make_engine()
    before = world.weights(engine)
    assert Checkpoints(tmp_path / "none").load(engine, {}) == 0
    assert world.same(before, world.weights(engine))


def test_the_last_ones_are_kept_and_leftovers_go(world, tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    (tmp_path / "writing-000009").mkdir(parents=True)  # what a kill leaves
    for steps in (1, 2, 10):
        checkpoints.save(steps, world.make_engine(), {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000002", "step-000010"]
    assert [one.steps for one in checkpoints.found()] == [2, 10]
    with pytest.raises(InputError):
        Checkpoints(tmp_path, keep=0)


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "manifest", "no manifest", "other manifest"])
def test_damage_is_named_and_the_earlier_one_is_taken_only_when_told(world, tmp_path, damage):
    checkpoints, engine, part = Checkpoints(tmp_path), world.make_engine(), Part({"n": 1})
    checkpoints.save(1, engine, {"tasks": part})
    checkpoints.save(2, engine, {"tasks": part})
    path = tmp_path / "step-000002"
    file = max((path / "engine").rglob("*.safetensors"), key=lambda one: one.stat().st_size)
    if "manifest" in damage:
        file = path / "manifest.json"
    data = file.read_bytes()
    if damage in ("remove", "no manifest"):
        file.unlink()
    elif damage == "other manifest":
        file.write_text('{"state.json": 3}')
    else:
        file.write_bytes(data[:-9] if damage in ("cut", "manifest") else data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    other, fresh = world.make_engine(seed=1), Part({"n": 0})
    before = world.weights(other)
    with pytest.raises(CheckpointError) as caught:
        checkpoints.load(other, {"tasks": fresh})
    assert str(file) in str(caught.value) and f"Remove {path} to resume from step-000001" in str(caught.value)
    assert world.same(before, world.weights(other)) and fresh.state == {"n": 0}
    shutil.rmtree(path)  # as the message says
    assert checkpoints.load(other, {"tasks": fresh}) == 1 and fresh.state == {"n": 1}


def test_one_that_was_put_aside_is_none(world, tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for steps in (1, 2):
        checkpoints.save(steps, world.make_engine(), {})
    (tmp_path / "step-000002").rename(tmp_path / "step-000002.bad")
    (tmp_path / "step-").mkdir()
    assert [one.steps for one in checkpoints.found()] == [1] and checkpoints.load(world.make_engine()) == 1


def test_other_roles_do_not_fit(world, tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, world.make_engine(), {"tasks": Part({}), "credit": world.centred})
    with pytest.raises(
        CheckpointError, match=r"state of \['tasks'\], but this run needs that of \['credit', 'tasks'\]"
    ):
        checkpoints.load(world.make_engine(), {"tasks": Part(), "credit": Part()})


@pytest.mark.parametrize("state", [{"a": {1: 2}}, {"a": object()}, {"a": [{3}]}])
def test_a_state_that_would_not_come_back_is_refused(world, tmp_path, state):
    with pytest.raises(InputError, match="the state of tasks/a"):
        Checkpoints(tmp_path).save(1, world.make_engine(), {"tasks": Part(state)})
    assert Checkpoints(tmp_path).found() == []


def test_no_checkpoint_holds_a_pickle(world, tmp_path):
    path = Checkpoints(tmp_path).save(1, world.make_engine(), {"tasks": Part({"mean": np.ones(2)})})
    assert {file.suffix for file in path.rglob("*") if file.is_file()} <= {".json", ".safetensors"}
    for file in path.rglob("*.json"):
        json.loads(file.read_text())
