import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.losses.corrections.geometric_veto import geometric_veto
from handaxe.losses.corrections.stacked import stacked
from handaxe.losses.corrections.tis import tis
from handaxe.losses.parts.components import Weights
from handaxe.testing.batches import small_batch

EXAMPLE = {"corrections": [tis(), geometric_veto(cap=1.5)]}
TOGETHER = "rollouts"


def test_stacked_matches_the_docstring_example():
    first = Weights(torch.tensor([1.5, 2.0]), torch.tensor([1.5, 4.0]))
    second = Weights(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0]))
    weight, raw = stacked(corrections=[lambda batch: first, lambda batch: second])(small_batch([[1.0]]))
    assert weight.tolist() == [1.5, 0.0]
    assert raw.tolist() == [1.5, 4.0]


def test_no_correction_is_an_error():
    with pytest.raises(InputError, match="at least one"):
        stacked(corrections=[])
