import math

import pytest
import torch
from helpers.pair_batches import with_labels

from handaxe.core.errors import InputError
from handaxe.losses.parts.labels import labelled_scores
from handaxe.testing.batches import random_policy, small_batch, small_policy


def test_the_docstring_example():
    batch = small_batch([[1.0, 1.0]], extras={"label/score": [[3.0, math.nan]]})
    out = small_policy(batch, -1.0, heads={"reward": [[[0.5, 0.7]]]})
    score_BTK, label_BTK, known_BTK = labelled_scores(out, batch, "reward", ("score",))
    assert label_BTK.flatten().tolist() == [0.0, 3.0, 0.0] and known_BTK.flatten().tolist() == [False, True, False]
    assert score_BTK.flatten().tolist() == [0.0, 0.5, 0.7]


def test_nothing_is_known_off_the_mask_and_nan_scores_there_are_0():
    batch = with_labels(0, "one", "two")
    out = random_policy(batch, 0, under_mask=math.nan)
    score_BTK, label_BTK, known_BTK = labelled_scores(out, batch, "gaussian", ("one", "two"))
    assert torch.isfinite(score_BTK).all() and torch.isfinite(label_BTK).all()
    assert not known_BTK[~batch.mask_BT].any() and known_BTK.any() and not known_BTK[batch.mask_BT].all()


def test_outputs_and_labels_have_to_agree():
    batch = with_labels(0, "one")
    out = random_policy(batch, 0)
    with pytest.raises(InputError, match="the head 'gaussian' has 2 outputs, and the labels one need 1"):
        labelled_scores(out, batch, "gaussian", ("one",))
    with pytest.raises(InputError, match="the batch has no label two; it has one"):
        labelled_scores(out, batch, "reward", ("two",))
    assert labelled_scores(out, batch, "gaussian", ("one",), per_label=2)[0].shape[-1] == 2
