import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.i_mcts.introspection import CAPACITY, capacity_direction, option_capacity, propose_options
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice

UNIT = st.floats(0, 1)


def test_directions_by_hand():
    assert capacity_direction(0.9, 0.6, capacity=0.0) == pytest.approx(-0.5, abs=1e-9)
    # one better sibling of more capacity; then a second, worse one of less capacity, and one of equal capacity
    assert capacity_direction(0.9, 0.6, capacity=0.0, siblings=[(0.7, 1.0)]) == pytest.approx(0.25, abs=1e-9)
    three = [(0.7, 1.0), (0.5, -1.0), (0.9, 0.0)]
    assert capacity_direction(0.9, 0.6, capacity=0.0, siblings=three) == pytest.approx(0.25, abs=1e-9)
    # a worse sibling of more capacity: (-0.5 - 1) / 2
    assert capacity_direction(0.9, 0.6, capacity=0.0, siblings=[(0.5, 1.0)]) == pytest.approx(-0.75, abs=1e-9)
    assert capacity_direction(1.0, 1.0, capacity=0.0) == 0 and capacity_direction(0.5, 0.6, capacity=0.0) == 1


@given(UNIT, UNIT, st.lists(st.tuples(UNIT, st.sampled_from([-1.0, 0.0, 1.0])), max_size=4))
def test_directions_are_bounded(train, dev, siblings):
    assert -1 <= capacity_direction(train, dev, capacity=0.0, siblings=siblings) <= 1


def test_a_training_score_outside_the_unit_interval_raises():
    with pytest.raises(InputError, match="a unit score"):
        capacity_direction(1.5, 0.5, capacity=0.0)


def test_option_capacity_is_of_the_last_decided_stage():
    choice = TableChoice("standard", "pca50", "tree", "weak")
    assert [option_capacity(choice, depth) for depth in range(5)] == [0, 0, -1, 1, 1]
    assert set(CAPACITY) <= {option for options in STAGES.values() for option in options}


def test_first_proposals_have_the_probabilities_of_the_formula():
    rng = random.Random(0)
    draws = Counter(propose_options("strength", direction=0.5, count=1, sharpness=2.0, rng=rng)[0] for _ in range(4000))
    weights = np.exp([1.0, 0.0, -1.0])
    for option, share in zip(("weak", "middle", "strong"), weights / weights.sum(), strict=True):
        assert draws[option] / 4000 == pytest.approx(share, abs=0.03)


def test_proposals_are_distinct_and_end_with_the_options():
    found = propose_options("model", direction=0.0, count=9, sharpness=2.0, rng=random.Random(1))
    assert sorted(found) == sorted(STAGES["model"])
    with pytest.raises(InputError, match="propose 1 option"):
        propose_options("model", direction=0.0, count=0, sharpness=2.0, rng=random.Random(1))
