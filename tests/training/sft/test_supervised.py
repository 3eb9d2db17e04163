import os
import signal

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.supervised import as_rated, in_batches, restart, run_steps, supervised_batch
from handaxe.training.stages.context import make_site


def test_every_epoch_has_all_of_them_in_an_order_of_its_own():
    steps = list(in_batches(10, 4, 2, seed=0))
    assert [len(one) for one in steps] == [4, 4, 2, 4, 4, 2]
    first, second = np.concatenate(steps[:3]), np.concatenate(steps[3:])
    assert sorted(first) == sorted(second) == list(range(10)) and first.tolist() != second.tolist()
    assert [one.tolist() for one in in_batches(10, 4, 2, seed=0)] == [one.tolist() for one in steps]


def test_what_the_policy_wrote_has_advantage_one(world):
    one = make_trajectory(layouts=["UUt pp tTt p", "Ut p"])
    rated = as_rated([one])
    for sequence, tokens in zip(one.sequences, rated.advantages.tokens[0]):
        assert tokens.tolist() == sequence.mask.tolist()
    batch = supervised_batch([as_rated([one]), as_rated([one, one])], world.make_engine())
    assert batch.rollout_B.tolist() == [0, 0, 1, 1, 2, 2] and batch.group_B.tolist() == [0, 0, 1, 1, 1, 1]
    assert torch.equal(batch.adv_BT > 0, batch.mask_BT) and batch.temperature_B.tolist() == [1] * 6


def test_ctrl_c_finishes_the_step_at_hand(world):
    engine = world.make_engine()
    batch = supervised_batch([as_rated([make_trajectory(layouts=["UUt pp"])])], engine)

    def press():
        os.kill(os.getpid(), signal.SIGINT)
        return [batch]

    steps = [lambda: [batch], press, lambda: [batch]]
    site = make_site(engine=engine, format=world.FORMAT)
    options = {"learning_rate": lambda step: 0.1 * step, "title": "t", "about": {}, "restart_first": True}
    metrics = run_steps(site, world.reinforce, steps, **options)
    assert len(metrics) == engine.version == 2 and [round(m["learning_rate"], 9) for m in metrics] == [0, 0.1]


def test_an_engine_without_restart_is_refused(world):
    with pytest.raises(InputError, match="Six cannot restart"):
        restart(type("Six", (), {})())
