import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.language_to_rewards.predictive_sampling import predictive_sampling


def move(states, controls):
    """A point: the control is the change of the position."""
    return states + 0.1 * controls


def nearness(states, controls):
    return -(states[..., 0] ** 2) - 1e-3 * controls[..., 0] ** 2


def controlled(**options):
    return predictive_sampling(np.array([1.0]), advance=move, score=nearness, axes=1, **{"steps": 30, **options})[:, 0]


def test_predictive_sampling_brings_a_point_to_0():
    found = controlled()
    assert found.shape == (31,) and found[0] == 1.0
    assert abs(found[-1]) < 0.05 and (np.abs(np.diff(found)) <= 0.1 + 1e-12).all()


def test_equal_seeds_give_equal_states():
    assert np.array_equal(controlled(seed=3), controlled(seed=3))
    assert not np.array_equal(controlled(seed=3), controlled(seed=4))


def test_a_single_plan_or_no_noise_leaves_the_controls_at_0():
    assert (controlled(samples=1) == 1.0).all()
    assert (controlled(noise=0.0) == 1.0).all()


def test_the_first_step_equals_a_loop_over_the_plans():
    """Twin of one step: each plan holds one drawn control, and the scale of plan n is noise n / (N - 1)."""
    drawn = np.random.default_rng(5).standard_normal((1, 3, 1))[0, :, 0]
    controls = [0.0, *(float(np.clip(0.5 * n / 3 * drawn[n - 1], -1, 1)) for n in (1, 2, 3))]
    best = 0
    sums = []
    for control in controls:
        place = 1.0
        total = 0.0
        for _ in range(4):
            place += 0.1 * control
            total += -(place**2) - 1e-3 * control**2
        sums.append(total)
    best = sums.index(max(sums))
    found = controlled(steps=1, samples=4, horizon=4, hold=4, seed=5)
    assert found[1] == pytest.approx(1.0 + 0.1 * controls[best], abs=1e-12)


@pytest.mark.parametrize("options", [{"steps": 0}, {"samples": 0}, {"horizon": 0}, {"hold": 0}, {"noise": -1.0}])
def test_bad_numbers_raise(options):
    with pytest.raises(InputError, match="give numbers of 1 or more"):
        controlled(**options)
