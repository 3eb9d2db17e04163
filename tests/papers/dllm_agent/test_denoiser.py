import numpy as np
import pytest
import torch

from handaxe.models.tiny import TinyConfig, TinyNet
from handaxe.papers.dllm_agent.denoiser import MASK, NOTHING, Denoiser
from handaxe.papers.dllm_agent.masked_loss import corrupt
from handaxe.papers.dllm_agent.span_mask import naive_mask, span_mask
from handaxe.papers.dllm_agent.span_rows import span_row

IDS = [10, 11, 12, 20, 21, 13, 14, 22, 23]
SPANS = [(3, 5), (7, 9)]
LATER = [10, 11, 12, 20, 21, 33, 34, 42, 43]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = Denoiser(TinyNet(TinyConfig(vocab_size=50, width=16, layers=2, heads=2))).double()
    torch.nn.init.normal_(model.masked)
    torch.nn.init.normal_(model.masked_before)
    return model


def outputs(model, ids, mask, masked=()):
    row = span_row(ids, SPANS, size=2, pad=0)
    masked_N = np.isin(np.arange(len(row.ids)), masked)
    batch = corrupt([row], [mask(row)], [masked_N], [np.ones(len(row.ids))])
    return model(batch.ids, batch.before, batch.position, batch.visible)[0]


def test_earlier_outputs_do_not_change_with_later_tokens(model):
    """Rows 9 to 11 are the first block, which precedes every changed token; rows 0 to 4 its clean context."""
    first = outputs(model, IDS, span_mask, masked=[10])
    second = outputs(model, LATER, span_mask, masked=[10, 13, 14])
    unchanged = [*range(5), 9, 10, 11]
    assert torch.allclose(first[unchanged], second[unchanged], rtol=0, atol=1e-12)
    assert not torch.allclose(first[12:], second[12:], atol=1e-3)


def test_naive_attention_leaks_later_tokens_into_earlier_outputs(model):
    first = outputs(model, IDS, naive_mask, masked=[10])
    second = outputs(model, LATER, naive_mask, masked=[10])
    assert (first[[9, 10, 11]] - second[[9, 10, 11]]).abs().max() > 1e-3


def test_no_gradient_reaches_a_later_block(model):
    """The loss of the first block depends on its own masked embedding and on no embedding of later ids."""
    model.zero_grad()
    outputs(model, IDS, span_mask, masked=[10])[9, 20].backward()
    touched = model.net.embed_before.weight.grad.abs().sum(dim=1) > 0
    assert touched[[10, 11, 20]].tolist() == [True, True, False]  # 20 is masked: its successor has no previous id
    assert not touched[[21, 13, 14, 22, 23]].any()


def test_noised_blocks_do_not_see_the_clean_copy_of_their_tokens(model):
    first = outputs(model, IDS, span_mask, masked=[10, 11])
    second = outputs(model, [10, 11, 12, 40, 41, 13, 14, 22, 23], span_mask, masked=[10, 11])
    assert torch.allclose(first[9:12], second[9:12], rtol=0, atol=1e-12)


def test_without_masks_a_causal_denoiser_is_the_autoregressive_policy(model):
    ids = torch.tensor([IDS])
    before = torch.tensor([[NOTHING, *IDS[:-1]]])
    causal = torch.ones(1, 9, 9, dtype=torch.bool).tril()
    logp = model(ids, before, torch.arange(9)[None], causal)
    assert torch.allclose(logp, model.net.head(model.net.hidden(ids)).log_softmax(-1), atol=1e-10)


def test_cached_and_whole_forward_passes_are_equal(model):
    ids = torch.tensor([[*IDS[:7], MASK, 23]])
    before = torch.tensor([[NOTHING, *IDS[:7], MASK]])
    place = torch.arange(9)[None]
    visible = torch.ones(1, 9, 9, dtype=torch.bool).tril()
    visible[:, 6:] = True
    whole, _ = model.extend((), ids, before, place, visible)
    _, cache = model.extend((), ids[:, :6], before[:, :6], place[:, :6], visible[:, :6, :6])
    rest, kept = model.extend(cache, ids[:, 6:], before[:, 6:], place[:, 6:], visible[:, 6:])
    assert torch.allclose(rest, whole[:, 6:], atol=1e-10) and kept[0][0].shape[2] == 9
