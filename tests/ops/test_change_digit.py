import pytest

from handaxe.ops.change_digit import change_digit


@pytest.mark.parametrize("seed", range(6))
def test_one_digit_changes(seed):
    changed = change_digit("-1.5 a", seed=seed)
    assert changed != "-1.5 a" and sum(a != b for a, b in zip(changed, "-1.5 a")) == 1
    assert change_digit("none", seed=seed) is None
