import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from handaxe.papers.language_to_rewards.planar_body import REST, advance


def test_advance_matches_its_example():
    found = advance(REST[None], np.array([[1.0, 0, 0, 0]]))[0]
    # rate 0.1 * 4 = 0.4, x 0.1 * 0.4 = 0.04
    np.testing.assert_allclose(found, [0.04, 0, 0, 1, 0.4, 0, 0, 0], atol=1e-12)
    # second step: rate 0.4 + 0.1 (4 - 0.8) = 0.72, x 0.04 + 0.072 = 0.112
    second = advance(found[None], np.array([[1.0, 0, 0, 0]]))[0]
    np.testing.assert_allclose(second, [0.112, 0, 0, 1, 0.72, 0, 0, 0], atol=1e-12)


@given(st.lists(st.lists(st.floats(-3, 3), min_size=4, max_size=4), min_size=1, max_size=5))
def test_advance_equals_a_loop_and_bounds_the_rates(controls):
    states = advance_all = np.repeat(REST[None], 2, axis=0)
    pose = [0.0, 0.0, 0.0, 1.0]
    rate = [0.0] * 4
    for control in controls:
        advance_all = advance(advance_all, np.array([control, control]))
        for k, gain in enumerate((4, 4, 8, 4)):
            rate[k] += 0.1 * (gain * min(1.0, max(-1.0, control[k])) - 2 * rate[k])
            pose[k] += 0.1 * rate[k]
            assert abs(rate[k]) <= gain / 2
    np.testing.assert_allclose(advance_all, [[*pose, *rate]] * 2, atol=1e-9)
    assert np.array_equal(states[0], REST)
