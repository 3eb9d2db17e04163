"""`train` on ranks is `train` in one process: with a calculator, ahead of the step, and in segments."""

import pytest
import torch

from handaxe.core.validation import check
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord

pytestmark = pytest.mark.slow
QUESTIONS = ("What is 3 + 4?", "What is 12 - 5?", "What is 6 * 7?", "What is 20 - 8?")


@pytest.fixture(scope="module")
def two():
    ranks = Ranks(2, timeout=300.0, device="cpu")
    yield ranks
    ranks.close()


def policy():
    model, chat = load("tiny")
    model.module.double()
    return model, chat


@pytest.mark.parametrize(
    "pace", [{}, {"staleness": 1, "lockstep": False}, {"segment_tokens": 20}], ids=["plain", "ahead", "segments"]
)
def test_three_steps_with_a_calculator(world, two, tmp_path, pace):
    model, chat = policy()
    engines = {"one": LocalEngine(model), "ranks": ClusterEngine(policy()[0], trainers=two)}
    norms = {}
    for name, engine in engines.items():
        roles = world.calculating(
            answers=dict.fromkeys(QUESTIONS, "7"), engine=engine, format=chat, out=tmp_path / name, **pace
        )
        train(**roles)
        with RunRecord.open(tmp_path / name) as record:
            norms[name] = [step["grad_norm"] for step in record.metrics() if "grad_norm" in step]
            for trajectory in record.trajectories():
                check(trajectory)
            oldest = [step["staleness/max"] for step in record.metrics() if "staleness/max" in step]
            assert max(oldest, default=0) <= pace.get("staleness", 0)
    assert norms["ranks"][0] == pytest.approx(norms["one"][0], rel=1e-4)
    if "staleness" not in pace:  # else what is sampled under which weights is a matter of time
        assert norms["ranks"] == pytest.approx(norms["one"], rel=1e-6)
        found = dict(engines["ranks"].iter_weights())
        for name, p in model.module.named_parameters():
            torch.testing.assert_close(found[name], p.detach(), rtol=0, atol=1e-6, msg=name)
    engines["ranks"].close()
