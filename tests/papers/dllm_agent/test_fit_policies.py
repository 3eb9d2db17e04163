import numpy as np
import pytest
import torch

from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.fit_policies import Fitting, SpannedIds, fit_autoregressive, fit_denoiser
from handaxe.papers.dllm_agent.span_mask import naive_mask, span_mask
from handaxe.papers.dllm_agent.unmasking import unmask_turns

STOP = 1
SMALL = TinyConfig(vocab_size=12, width=16, layers=1, heads=2)
DATA = [SpannedIds(np.array([2, 3, own, own + 1, STOP]), [(3, 5)]) for own in (5, 7)]
"""After 5 comes 6, after 7 comes 8, then a stop."""
FITTING = Fitting(60, 2, 2e-2)


def test_the_denoiser_learns_the_action_that_depends_on_the_context():
    model = Denoiser(TinyModel.new(SMALL).module)
    losses = fit_denoiser(model, DATA, FITTING, size=3, pad=STOP, mask=span_mask)
    assert len(losses) == 60 and np.mean(losses[-20:]) < 0.5 * np.mean(losses[:20])
    turns = unmask_turns(model, [[2, 3, 5], [2, 3, 7]], size=3, stop=frozenset({STOP}))
    assert [turn.ids for turn in turns] == [[6, STOP], [8, STOP]]
    assert max(turn.forwards for turn in turns) <= 3


def test_the_autoregressive_policy_learns_the_action():
    model = TinyModel.new(SMALL)
    losses = fit_autoregressive(model, DATA, FITTING, pad=STOP)
    assert losses[-1] < 0.2 * losses[0]
    with torch.no_grad():
        logits = model.module.head(model.module.hidden(torch.tensor([[2, 3, 5, 6], [2, 3, 7, 8]])))
    assert logits[:, 2:].argmax(-1).tolist() == [[6, STOP], [8, STOP]]


def test_tokens_of_the_context_have_no_loss():
    """The first loss of a conversation is the mean over its action tokens alone."""
    model = TinyModel.new(SMALL)
    with torch.no_grad():
        logp = model.module.head(model.module.hidden(torch.tensor([[2, 3, 5, 6]]))).log_softmax(-1)[0]
    (loss,) = fit_autoregressive(model, DATA[:1], Fitting(1, 1, 1e-3), pad=STOP)
    assert loss == pytest.approx(-float(logp[2, 6] + logp[3, STOP]) / 2, rel=1e-5)


@pytest.mark.parametrize("mask", [span_mask, naive_mask])
def test_equal_seeds_give_equal_weights(mask):
    models = [Denoiser(TinyModel.new(SMALL).module) for _ in range(2)]
    losses = [fit_denoiser(own, DATA, Fitting(2, 1, 1e-2, 3), size=2, pad=STOP, mask=mask) for own in models]
    assert losses[0] == losses[1]
    assert all(map(torch.equal, models[0].parameters(), models[1].parameters()))
