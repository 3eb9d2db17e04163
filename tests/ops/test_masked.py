import math

import pytest
import torch

from handaxe.ops.masked import masked, masked_mean, masked_sum, sum_by_key

NAN = math.nan


@pytest.mark.parametrize("under", [NAN, 1e9, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_masked_values_affect_neither_value_nor_gradient(under, dtype):
    x = torch.tensor([[1.0, under, 3.0], [under, under, under]], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert masked(x, mask).tolist() == [[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    assert masked_sum(x, mask).item() == 4.0
    assert masked_sum(x, mask, 1).tolist() == [4.0, 0.0]
    assert masked_mean(x, mask).item() == 2.0
    assert masked_mean(x, mask, 1).tolist() == [2.0, 0.0]
    assert masked_mean(x, mask, 0).tolist() == [1.0, 0.0, 3.0]
    masked_sum(masked(x, mask).exp(), mask).backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad[0], torch.tensor([math.exp(1), 0, math.exp(3)], dtype=dtype))
    assert x.grad[1].tolist() == [0.0, 0.0, 0.0]
    assert masked(x, mask).dtype == dtype


def test_sum_by_key_adds_rows_of_equal_key():
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    total = sum_by_key(x, torch.tensor([0, 1, 0]))
    assert total.tolist() == [5.0, 2.0, 5.0]
    (total * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [101.0, 10.0, 101.0]
