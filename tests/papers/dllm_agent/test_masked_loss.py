import math

import numpy as np
import pytest
import torch

from handaxe.papers.dllm_agent.denoiser import MASK, NOTHING
from handaxe.papers.dllm_agent.masked_loss import corrupt, draw_masks, masked_loss
from handaxe.papers.dllm_agent.span_mask import span_mask
from handaxe.papers.dllm_agent.span_rows import span_row

ROW = span_row([10, 11, 12, 20, 21, 13], [(3, 5)], size=2, pad=0)
SHORT = span_row([10, 20], [(1, 2)], size=1, pad=0)


def test_masked_loss_of_two_tokens():
    logp = torch.tensor([0.5, 0.25], dtype=torch.float64).log()
    value = masked_loss(logp, torch.full((2,), 0.5, dtype=torch.float64), 4)
    assert float(value) == pytest.approx(1.5 * math.log(2), abs=1e-12)


def test_masks_fall_on_tokens_of_blocks_alone_with_their_probability():
    rng = np.random.default_rng(0)
    drawn = [draw_masks(ROW, rng) for _ in range(4000)]
    masked = np.mean([one for one, _ in drawn], axis=0)
    assert (masked[~ROW.predicted] == 0).all()
    assert masked[ROW.predicted] == pytest.approx(0.5, abs=0.03)
    both = np.mean([one[ROW.predicted].all() for one, _ in drawn])
    assert both == pytest.approx(1 / 3, abs=0.03), "tokens of a block share t: the mean of t^2"
    assert all((t[~ROW.predicted] == 1).all() and len({*t[ROW.predicted]}) == 1 for _, t in drawn[:50])


def test_corruption_masks_tokens_and_the_previous_ids_of_the_next():
    masked = np.zeros(9, bool)
    masked[7] = True
    batch = corrupt([ROW], [span_mask(ROW)], [masked], [np.full(9, 0.5)])
    assert batch.ids.tolist() == [[10, 11, 12, 20, 21, 13, 12, MASK, 21]]
    assert batch.before.tolist() == [[NOTHING, 10, 11, 12, 20, 21, 11, 12, MASK]]
    assert batch.target.tolist() == [ROW.ids.tolist()]
    assert batch.noisy.tolist() == [ROW.predicted.tolist()]


def test_padding_sees_itself_alone_and_is_not_predicted():
    none = [np.zeros(len(row.ids), bool) for row in (ROW, SHORT)]
    ones = [np.ones(len(row.ids)) for row in (ROW, SHORT)]
    batch = corrupt([ROW, SHORT], [span_mask(ROW), span_mask(SHORT)], none, ones)
    length = len(SHORT.ids)
    assert batch.visible[1, length:].tolist() == np.eye(9, dtype=bool)[length:].tolist()
    assert not batch.visible[1, :length, length:].any() and not batch.noisy[1, length:].any()
