import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.papers.barfi.channel_weights import channel_weights, weight_gradient
from handaxe.testing.make_records import make_group


def rated(**channels):
    size = len(next(iter(channels.values())))
    group = make_group(layouts=["Utp"] * size)
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    scores = Scores(np.zeros(size), channels={name: np.array(value, float) for name, value in channels.items()})
    return RatedGroup.of(group, scores, Advantages(nothing))


def make(learns=True, **options):
    return channel_weights({"aux": 1.0}, primary="main", learns=learns, **options)


def test_a_group_of_two_matches_its_example():
    learner = make()
    found = learner.learn([rated(main=[1, 0], aux=[0, 1])], step=0)
    assert found == pytest.approx({"groups": 1, "moved": 0.5, "gradient/aux": -0.5, "weight/aux": 0.5})
    assert learner.weight("aux")(7) == pytest.approx(0.5)
    # The weight is 0.5 now: r = 1, 0.5; p = e^2 / (e^2 + e) = 0.7311, Cov = -0.1966, gradient -0.3932.
    assert learner.learn([rated(main=[1, 0], aux=[0, 1])], step=1)["gradient/aux"] == pytest.approx(-0.3932, abs=1e-4)


@given(st.integers(0, 10_000))
def test_the_gradient_equals_finite_differences_and_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    main, aux, weight = rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=2)

    def value(own):
        odds = [math.exp((main[i] + sum(own[k] * aux[k, i] for k in range(2))) / 0.5) for i in range(5)]
        return sum(main[i] * odds[i] for i in range(5)) / sum(odds)

    found = weight_gradient(main, aux, weight, temperature=0.5)
    for k in range(2):
        step = 1e-5 * np.eye(2)[k]
        assert found[k] == pytest.approx((value(weight + step) - value(weight - step)) / 2e-5, abs=1e-6)


def test_unscored_siblings_lone_siblings_and_constant_channels_move_nothing():
    for one in (
        rated(main=[1, math.nan], aux=[0, 1]),
        rated(main=[1], aux=[0]),
        rated(main=[1, 1], aux=[0, 1]),
        rated(main=[1, 0], aux=[1, 1]),
    ):
        learner = make()
        assert learner.learn([one], step=0)["gradient/aux"] == pytest.approx(0.0)
        assert learner.weights == pytest.approx({"aux": 1.0})
    assert make().learn([], step=0) == {"groups": 0, "moved": 0, "gradient/aux": 0, "weight/aux": 1}
    both = [rated(main=[1, 0, math.nan], aux=[0, 1, 5]), rated(main=[1], aux=[0])]
    assert make().learn(both, step=0)["gradient/aux"] == pytest.approx(-0.5)


def test_a_helpful_channel_gains_weight_and_fixed_weights_are_measured_alone():
    assert make().learn([rated(main=[1, 0], aux=[1, 0])], step=0)["weight/aux"] > 1
    learner = make(learns=False)
    found = learner.learn([rated(main=[1, 0], aux=[0, 1])], step=0)
    assert found["gradient/aux"] == pytest.approx(-0.5) and learner.weights == {"aux": 1.0} and found["moved"] == 0


def test_the_order_of_siblings_and_constants_of_channels_do_not_matter():
    one, other = (make() for _ in range(2))
    one.learn([rated(main=[1, 0, 0.5], aux=[0, 1, 0.3])], step=0)
    other.learn([rated(main=[2.5, 3, 2], aux=[4.3, 4, 5])], step=0)
    assert one.weights["aux"] == pytest.approx(other.weights["aux"])


def test_weights_round_trip_and_invalid_arguments_are_rejected():
    learner, copy = make(), make()
    learner.learn([rated(main=[1, 0], aux=[0, 1])], step=0)
    copy.load_state_dict(learner.state_dict())
    assert copy.weights == learner.weights and copy.weight("aux")(0) == learner.weights["aux"]
    with pytest.raises(InputError, match="auxiliary channels"):
        channel_weights({}, primary="main")
    with pytest.raises(InputError, match="without the primary"):
        channel_weights({"main": 1.0}, primary="main")
    for wrong in ({"rate": 0.0}, {"temperature": 0.0}):
        with pytest.raises(InputError, match="above 0"):
            make(**wrong)
    with pytest.raises(InputError, match="no channel"):
        make().learn([rated(main=[1, 0])], step=0)
