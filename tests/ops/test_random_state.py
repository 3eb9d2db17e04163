import random

import numpy as np
import pytest
import torch

from handaxe.ops.random_state import kept_random_state


def drawn():
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def test_draws_inside_change_no_draw_outside():
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = drawn()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    with kept_random_state():
        assert drawn() == expected
    assert drawn() == expected


def test_random_state_is_restored_after_an_error():
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = drawn()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    with pytest.raises(ValueError, match="wrong"), kept_random_state():
        drawn()
        raise ValueError("wrong")
    assert drawn() == expected
