import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.saved_policy import verify_checkpoint
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


@pytest.mark.parametrize(
    "damage", ["flip", "cut", "remove", "manifest", "no manifest", "other manifest", "empty manifest", "manifest pipe"]
)
def test_damage_is_named_and_the_earlier_one_is_taken_only_when_told(world, tmp_path, damage):
    checkpoints, engine, part = Checkpoints(tmp_path), world.make_engine(), Part({"n": 1})
    checkpoints.save(1, engine, {"tasks": part})
    checkpoints.save(2, engine, {"tasks": part})
    path = tmp_path / "step-000002"
    file = max((path / "engine").rglob("*.safetensors"), key=lambda one: one.stat().st_size)
    if "manifest" in damage:
        file = path / "manifest.json"
    data = file.read_bytes()
    if damage in ("remove", "no manifest", "manifest pipe"):
        file.unlink()
        if damage == "manifest pipe":
            os.mkfifo(file)
    elif damage == "empty manifest":
        file.write_text("{}")
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


@pytest.mark.parametrize("name", ["state.json", "arrays.safetensors", "engine"])
def test_manifest_lists_every_file(world, tmp_path, name):
    path = Checkpoints(tmp_path).save(1, world.make_engine(), {"tasks": Part({"n": 1})})
    listing = json.loads((path / "manifest.json").read_text())
    kept = {key: value for key, value in listing.items() if not key.startswith(name)}
    (path / "manifest.json").write_text(json.dumps(kept))
    with pytest.raises(CheckpointError, match=f"manifest.json is damaged: it does not list {name}"):
        Checkpoints(tmp_path).load(world.make_engine(), {"tasks": Part()})
    shutil.rmtree(path / name, ignore_errors=True)
    (path / name).unlink(missing_ok=True)
    with pytest.raises(
        CheckpointError, match="manifest.json is damaged: it (does not list|lists no file of the engine)"
    ):
        Checkpoints(tmp_path).load(world.make_engine(), {"tasks": Part()})


def test_files_of_desktops_are_no_damage(world, tmp_path):
    path = Checkpoints(tmp_path).save(1, world.make_engine(), {})
    (path / ".DS_Store").touch()
    (path / "engine" / ".nfs0001").touch()
    assert Checkpoints(tmp_path).load(world.make_engine(), {}) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from handaxe.models.saved_policy import verify_checkpoint
from handaxe.training.record.checkpoint import Checkpoints

class Engine:
    def save(self, folder):
        (folder / "weights").write_text("weights")

def kill(event, arguments, removed=[]):
    if event == "os.remove":
        removed.append(1)
        if len(removed) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

checkpoints = Checkpoints(Path(sys.argv[1]), keep=1)
checkpoints.save(1, Engine(), {})
sys.addaudithook(kill)
checkpoints.save(2, Engine(), {})
"""


@pytest.mark.slow
@pytest.mark.parametrize("removed", [1, 2, 4])
def test_kill_during_removal_leaves_whole_checkpoints_only(tmp_path, removed):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(removed)])
    assert done.returncode == -signal.SIGKILL
    left = Checkpoints(tmp_path).found()
    assert [one.steps for one in left] == [2] and len(list(tmp_path.iterdir())) == 2
    for one in left:
        verify_checkpoint(one.path)


def test_leftover_of_a_killed_removal_is_removed(world, tmp_path):
    (tmp_path / "removing-step-000001").mkdir()
    Checkpoints(tmp_path).save(2, world.make_engine(), {})
    assert [path.name for path in tmp_path.iterdir()] == ["step-000002"]


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
