import pytest

from handaxe.evaluation.figures import RunFigures
from handaxe.view.curves import bands, run_curves


def run_of(rewards, tokens):
    return run_curves(
        RunFigures(
            [{"step": float(k), "reward": r, "tokens/sampled": t} for k, (r, t) in enumerate(zip(rewards, tokens))], {}
        )
    )


def test_run_curves_have_every_recorded_axis():
    found = run_of([0.0, 1.0], [10, 30])
    assert found["metrics"]["training/reward"] == [[1, 2], [0.0, 1.0]]
    assert found["spent"] == {"steps": [0, 1, 2], "tokens": [0, 10, 40], "seconds": [0, 0, 0]}


def test_band_along_steps_has_the_common_steps():
    found = bands([run_of([0.0, 1.0, 5.0], [1] * 3), run_of([1.0, 2.0], [1] * 2)], "training/reward", "steps")
    assert found["x"] == [1, 2] and found["mean"] == [0.5, 1.5]
    assert found["low"][0] == pytest.approx(0.5 - 12.706204736 * 0.5)  # Student's t of one degree of freedom


def test_band_along_tokens_interpolates():
    found = bands([run_of([0.0, 1.0, 2.0], [10, 10, 10]), run_of([0.0, 4.0], [10, 20])], "training/reward", "tokens")
    assert found["x"] == [10, 20, 30] and found["mean"] == [0.0, 1.5, 3.0]


def test_band_needs_two_overlapping_runs():
    one = run_of([0.0], [1])
    assert bands([one], "training/reward", "steps") is None and bands([one, one], "none", "steps") is None
    assert bands([one, one], "training/reward", "calls") is None
    assert bands([one, run_of([1.0], [9])], "training/reward", "tokens") is None
    assert bands([one, run_of([float("nan")], [1])], "training/reward", "steps") is None
