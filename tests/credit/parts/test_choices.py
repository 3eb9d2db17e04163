import numpy as np
import pytest

from handaxe.credit.parts.choices import above
from handaxe.errors import InputError
from handaxe.testing.records import make_group, make_scores


def test_example_and_the_unscored():
    scores = make_scores([0.5, 2, np.nan], channels={"efficiency": [1, 0, np.nan]}, turns=[[0, 0], [0, 1], [0, 0]])
    group = make_group(size=3)
    assert above("efficiency")(group, scores).tolist() == [True, False, False]
    assert above(None, 0.5)(group, scores).tolist() == [False, True, False]
    with pytest.raises(InputError, match="no channel 'style'"):
        above("style")(group, scores)
