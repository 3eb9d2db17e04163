import math

import numpy as np
import pytest

from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.papers.cooper.reward_gap import reward_gap
from handaxe.testing.make_records import make_group


def rated(model, truth):
    group = make_group(layouts=["Utp"] * len(model))
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    channels = {"model": np.array(model), "correct": np.array(truth)}
    return RatedGroup.of(group, Scores(np.zeros(len(model)), channels=channels), Advantages(nothing))


def test_the_docstring_example():
    learner = reward_gap(model="model", truth="correct")
    assert learner.learn([rated([0.9, 0.7], [1.0, 0.0])], step=0)["gap"] == pytest.approx(0.3)


def test_it_equals_a_slow_loop_over_groups_of_any_size():
    groups = [rated([0.9], [1.0]), rated([0.2, 0.5, math.nan], [0.0, 1.0, 1.0])]
    want = (0.9 - 1 + 0.2 - 0 + 0.5 - 1) / 3
    learner = reward_gap(model="model", truth="correct")
    assert learner.learn(groups, step=3)["gap"] == pytest.approx(want)
    assert learner.learn([], step=4) == {"gap": 0.0} and learner.state_dict() == {}
