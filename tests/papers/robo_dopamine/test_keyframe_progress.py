import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.robo_dopamine.hop_progress import hop_between
from handaxe.papers.robo_dopamine.keyframe_progress import balanced_pairs, keyframe_progress


def test_keyframe_progress_equals_the_worked_example_and_a_slow_loop():
    assert keyframe_progress([0, 2, 3]).tolist() == [0, 0.25, 0.5, 1]
    frames = [0, 2, 3, 7]
    for k, value in enumerate(keyframe_progress(frames)):
        j = max(n for n in range(3) if frames[n] <= k)
        expected = (j + (k - frames[j]) / (frames[j + 1] - frames[j])) / 3
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("frames", [[0], [1, 2], [0, 2, 2], [0, 3, 1]])
def test_keyframes_that_do_not_increase_are_refused(frames):
    with pytest.raises(InputError, match="increasing indices"):
        keyframe_progress(frames)


def test_pairs_are_balanced_over_bins_of_hops():
    """Hops: 0-1 0.5, 0-2 1, 1-2 1, 1-0 -1, 2-0 -1, 2-1 -0.5; four bins for six pairs."""
    progress = [np.array([0, 0.5, 1])]
    drawn = balanced_pairs(progress, count=4000, rng=np.random.default_rng(0), zero_share=0.2)
    same = drawn[:, 1] == drawn[:, 2]
    assert same.mean() == pytest.approx(0.2, abs=0.03)
    hop_P = np.array([float(hop_between(progress[0][p], progress[0][q])) for _, p, q in drawn[~same]])
    for hop in (-1, -0.5, 0.5, 1):
        assert (hop_P == hop).mean() == pytest.approx(0.25, abs=0.04)
    top = drawn[~same][hop_P == 1]
    assert (top[:, 1] == 0).mean() == pytest.approx(0.5, abs=0.06), "distances 1 and 2 have equal shares"


def test_pairs_stay_within_a_demonstration():
    progress = [np.linspace(0, 1, n) for n in (2, 5, 9)]
    for i, p, q in balanced_pairs(progress, count=200, rng=np.random.default_rng(1)):
        assert max(p, q) < len(progress[i])


@pytest.mark.parametrize("changed", [{"count": 0}, {"bins": 0}, {"gap_bins": 0}, {"zero_share": 1.0}])
def test_pairs_refuse_numbers_out_of_range(changed):
    with pytest.raises(InputError, match="give 1 up"):
        balanced_pairs([np.array([0.0, 1])], **{"count": 1, "rng": np.random.default_rng(0), **changed})
    with pytest.raises(InputError, match="no demonstration has two states"):
        balanced_pairs([np.zeros(1)], count=1, rng=np.random.default_rng(0))
