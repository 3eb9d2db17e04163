"""Ranks as Ray actors on this machine; most tests of ranks use plain processes, which start faster."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError, TrainingError
from handaxe.engines.cluster import ray_ranks
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.cluster.ray_ranks import HERE, RayRanks, start_ray
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_case import example_batch, example_loss

pytestmark = pytest.mark.slow
ray = pytest.importorskip("ray")
CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)


def tiny():
    return TinyModel(TinyModel.new(CONFIG, seed=1).module.double(), pad_id=0)


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_actors_equal_one_process_and_end(monkeypatch):
    try:
        start_ray(HERE, cpus=8)
        batch = example_batch(tiny())
        with ClusterEngine(tiny(), trainers=2, address=HERE, device="cpu", timeout=200.0) as engine:
            pids = engine.ranks.pids
            assert len(pids) == 2 and all(map(running, pids))
            norms = []
            for each in (engine, LocalEngine(tiny())):
                each.forward_backward(batch, example_loss)
                norms.append(each.optim_step(learning_rate=1e-2)["grad_norm"])
            assert norms[0] == pytest.approx(norms[1], rel=1e-6)
        assert not any(map(running, pids))
        with ClusterEngine(tiny(), trainers=2, address=HERE, device="cpu", timeout=200.0) as engine:
            pids = engine.ranks.pids

            def loss(out, batch):
                found = example_loss(out, batch)
                os.kill(pids[1], signal.SIGSTOP)
                return found

            engine.ranks.timeout = 5.0
            with pytest.raises(TrainingError, match="rank 1 did not answer"):
                engine.forward_backward(batch, loss)
            assert not any(map(running, pids))
        monkeypatch.setattr(ray_ranks, "PLACEMENT_TIMEOUT", 1.0)
        with pytest.raises(InputError, match="has no free resources for 1000 ranks"):
            Ranks(1000, address=HERE, device="cpu")
    finally:
        ray.shutdown()


def test_stacks_skips_dead_ranks(monkeypatch):
    def actor(name):
        return SimpleNamespace(stack=SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: name)))

    def get(call):
        if call == "dead":
            raise ray.exceptions.RayActorError
        return f"in {call}"

    monkeypatch.setattr(ray, "wait", lambda calls, **_: (calls, []))
    monkeypatch.setattr(ray, "get", get)
    ranks = RayRanks.__new__(RayRanks)
    ranks._actors = [actor("dead"), actor("sleep")]
    assert ranks.stacks([0, 1], 1.0) == {1: "in sleep"}


def test_missing_cluster_raises_input_error():
    with pytest.raises(InputError, match="no Ray cluster at 127.0.0.1:1"):
        start_ray("127.0.0.1:1")
