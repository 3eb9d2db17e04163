import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch
from handaxe.rollouts.surprising_tokens import surprising_tokens
from handaxe.testing.make_records import make_trajectory

FIVE = make_trajectory(layouts=["UUUUt ppppp"], logp=[-0.1, -2.0, -1.9, -0.2, -1.0], id="t/0")


def test_surprising_tokens_matches_the_docstring_example():
    assert surprising_tokens(count=2, apart=2)(FIVE) == [Branch("t/0", 0, 6), Branch("t/0", 0, 9)]


def test_apart_and_count_bound_the_places():
    assert [one.token for one in surprising_tokens(count=5, apart=1)(FIVE)] == [6, 7, 9, 8, 5]
    assert [one.token for one in surprising_tokens(count=5, apart=4)(FIVE)] == [6]
    assert [one.token for one in surprising_tokens(count=1)(FIVE)] == [6]


def test_recorded_entropy_replaces_log_probs():
    trunk = make_trajectory(layouts=["Ut ppp"], logp=[-3.0, -2.0, -1.0], features={"entropy": [0.1, 0.2, 0.3]})
    assert [one.token for one in surprising_tokens(count=3, apart=1)(trunk)] == [4, 3, 2]


def test_only_sampled_tokens_count_in_each_sequence():
    trunk = make_trajectory(layouts=["UUt pp", "UUttTt p"], logp=[-1.0, -2.0, -1.5])
    assert [one[1:] for one in surprising_tokens(count=9, apart=3)(trunk)] == [(0, 4), (1, 6)]
    noisy = make_trajectory(layouts=["Ut p"], features={"entropy": [0.5]}, off_mask=np.nan)
    assert [one.token for one in surprising_tokens()(noisy)] == [2]


def test_ties_take_the_earlier_token():
    trunk = make_trajectory(layouts=["Ut pppp"], logp=-0.5)
    assert [one.token for one in surprising_tokens(count=2, apart=2)(trunk)] == [2, 4]


def test_arguments_below_one_are_errors():
    for options in ({"count": 0}, {"apart": 0}):
        with pytest.raises(InputError, match="give 1 or more of each"):
            surprising_tokens(**options)
