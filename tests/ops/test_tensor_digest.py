import pytest
import torch

from handaxe.ops.tensor_digest import describe_tensor, tensor_digest

ZEROS = torch.zeros(2, 3)


def test_tensor_digest_is_equal_for_equal_bits():
    transposed = torch.arange(6.0).reshape(3, 2).T
    assert tensor_digest({"w": transposed}) == tensor_digest({"w": transposed.contiguous()})


@pytest.mark.parametrize(
    "other", [{"v": ZEROS}, {"w": ZEROS.double()}, {"w": ZEROS.reshape(3, 2)}, {"w": -ZEROS}, {"w": ZEROS + 1}, {}],
    ids=["name", "type", "shape", "sign of zero", "values", "no tensor"],
)  # fmt: skip
def test_tensor_digest_differs_by_name_type_shape_and_bits(other):
    assert tensor_digest(other) != tensor_digest({"w": ZEROS})
    assert tensor_digest({"w": ZEROS}, "a setup") != tensor_digest({"w": ZEROS})


def test_describe_tensor_names_type_and_shape():
    assert describe_tensor(ZEROS) == "float32 [2, 3]"
