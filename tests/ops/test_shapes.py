import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.ops.shapes import check_shapes


def test_matching_shape_passes():
    check_shapes(np.zeros(3), [3])
    check_shapes(torch.zeros(2, 5), [2, None])
    check_shapes(np.float64(1.0), [])


@pytest.mark.parametrize(("array", "shape"), [(np.zeros(3), [4]), (np.zeros(3), [3, 1]), (torch.zeros(2, 5), [None])])
def test_mismatched_shape_raises(array, shape):
    with pytest.raises(InputError):
        check_shapes(array, shape)


def test_message_has_expected_and_actual_shape():
    with pytest.raises(InputError, match=r"outcome must have shape \[4, any\], but has \[2, 5, 1\]"):
        check_shapes(np.zeros((2, 5, 1)), [4, None], "outcome")
