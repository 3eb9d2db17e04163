"""Problems of losses on a batch; roles of a run are tested in test_first_step.py."""

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.losses.policy import policy as policy_loss
from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import random_batch
from handaxe.training.loop.loss_problems import loss_problems

BATCH = random_batch(1)


@pytest.mark.parametrize("ratio", [token(), sequence()])
def test_a_loss_of_the_library_has_no_problem(ratio):
    loss = policy_loss(ratio=ratio, surrogate=clip(), reduction=token_mean())
    assert list(loss_problems(loss, BATCH)) == []


def test_a_loss_that_changes_its_input_has_a_problem():
    def loss(policy, batch):
        batch.adv_BT.mul_(0.5)
        value = torch.where(batch.mask_BT, policy.logp_BT * batch.adv_BT, 0.0).sum() / batch.denominators.tokens
        return LossOut(value, {})

    assert "it changes a tensor of its input" in next(loss_problems(loss, random_batch(1)))


def test_a_loss_without_a_gradient_has_a_problem():
    problems = loss_problems(lambda policy, batch: LossOut(torch.zeros(()), {}), BATCH)
    assert next(problems) == "the value has shape () and requires_grad=False; give a scalar"
