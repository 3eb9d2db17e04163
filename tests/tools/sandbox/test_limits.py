import pytest

from handaxe.core.errors import InputError
from handaxe.tools.sandbox.limits import Limits


def test_defaults_are_in_range():
    Limits().check()


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": 0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"cpu": 0},
        {"cpu": 1.5},
        {"memory": 2**20},
        {"disk": 0},
        {"open_files": 3},
        {"threads": -1},
        {"threads": True},
        {"output": 10},
        {"memory": 2**63},
    ],
    ids=str,
)
def test_limit_out_of_range_raises(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Limits(**wrong).check()
