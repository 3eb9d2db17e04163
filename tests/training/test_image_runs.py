"""Runs with images: records, stored trajectories with images, and resuming after a kill."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import CONFIG

from handaxe.core.images import Image
from handaxe.core.records import Message, Scores, Task
from handaxe.core.requests import EnvReply
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyModel
from handaxe.selection.success_replay import success_replay
from handaxe.testing.crash import kill_self_at, run_until_killed
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord


class Look:
    """Shows a part of the image of the question after the first turn; the second turn is the last."""

    def __init__(self, task):
        self.task, self.turns = task, 0

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        self.turns += 1
        if self.turns == 2:
            return EnvReply(done=True)
        (image,) = self.task.messages[0].images
        return EnvReply((Message.of("user", image.crop((0, 0, 8, 8 * (1 + seed % 2)))),))

    def report(self):
        return {"seen": self.task.messages[0].images}

    def snapshot(self):
        return self.turns

    def restore(self, state):
        self.turns = state

    def close(self):
        pass


def even_bytes(group):
    """Reward: the share of sampled ids that are even."""
    ids = [np.concatenate([sequence.ids[sequence.mask] for sequence in one.sequences]) for one in group]
    return Scores(np.array([float(np.mean(own % 2 == 0)) for own in ids]))


def arguments(world, **changes):
    model = TinyModel.new(CONFIG, seed=1)
    engine = world.Talking(lambda request: "abbc"[: 1 + request.seed % 4])
    engine.inner = LocalEngine(model)
    tasks = [Task(f"t{k}", (Message.of("user", noise(k, 16, 16), "?"),)) for k in range(3)]
    base = {
        "engine": engine,
        "format": Compact(model.image_processor),
        "tasks": world.Tasks(tasks),
        "env": Look,
        "reward": even_bytes,
        "credit": world.centred,
        "select": success_replay(credit=world.centred, above=0.4, std_below=9.0, mean_below=0.7),
        "learning_rate": 1e-3,
    }
    return world.arguments(**base | changes)


def resume(folder, steps, kill):
    """What a child process runs: go on with the run in `folder`, die before the reward of group number `kill`, or leave
    the final weights there."""
    from helpers import training_world as world

    torch.set_num_threads(1)
    die = kill_self_at(kill)

    def reward(group):
        die()
        return even_bytes(group)

    whole = arguments(world, reward=reward, steps=steps, out=Path(folder), resume=True, checkpoint_every=1)
    train(**whole)
    torch.save(world.weights(whole["engine"]), Path(folder) / "final.pt")


@pytest.mark.slow
def test_killed_and_resumed_with_images_in_a_buffer_is_uninterrupted(world, tmp_path):
    steps = 6
    whole = arguments(world, steps=steps)
    result = train(**whole)
    assert sum(row.get("added", 0) for row in result.metrics) > 2
    run_until_killed(Path(__file__), "resume", (str(tmp_path), steps, 11))
    with RunRecord.open(tmp_path) as record:
        assert len(record.steps()) == 3
    resume(tmp_path, steps, 0)
    assert world.same(torch.load(tmp_path / "final.pt"), world.weights(whole["engine"]))


def test_a_record_holds_the_images_that_the_policy_saw(world, tmp_path):
    train(**arguments(world, steps=2, out=tmp_path))
    with RunRecord.open(tmp_path) as record:
        found = record.trajectories()
        (count,) = record.query("SELECT count(*) FROM images")[0]
    assert len(found) == 24 and count == len({image for one in found for image in one.images}) <= 9
    for one in found:
        first, *parts = one.images
        for part in parts:
            np.testing.assert_array_equal(part.pixels, first.pixels[: part.height, : part.width])
        assert one.env == {"seen": (first,)}
        assert one.num_image_tokens == 4 + sum(part.height // 8 for part in parts)
        assert one.sequences[0].ids.dtype == np.int64
    assert all(len(one.images) == 2 for one in found)


@pytest.mark.parametrize("recorded", [False, True])
def test_only_a_record_encodes_images(world, tmp_path, monkeypatch, recorded):
    """Trap 29."""
    encode, made = Image._encode, []
    monkeypatch.setattr(Image, "_encode", lambda self: made.append(self.digest) or encode(self))
    train(**arguments(world, steps=2, **({"out": tmp_path, "checkpoint_every": 99} if recorded else {})))
    assert bool(made) == recorded and len(made) <= 9 + 9
