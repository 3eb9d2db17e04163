import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.robo_dopamine.hop_progress import apply_hop, fused_progress, hop_between

PROGRESS = st.floats(0, 1)
HOPS = st.lists(st.floats(-1, 1), min_size=1, max_size=12)


def test_hops_equal_the_worked_examples():
    assert hop_between(np.array([0.4, 0.4, 0.4]), np.array([0.7, 0.2, 0.4])).tolist() == pytest.approx([0.5, -0.5, 0])
    assert apply_hop(np.array([0.4, 0.4]), np.array([0.5, -0.5])).tolist() == pytest.approx([0.7, 0.2], abs=1e-12)
    assert hop_between(np.array([0.0, 1.0]), np.array([1.0, 0.0])).tolist() == [1, -1]


@settings(max_examples=60, deadline=None)
@given(before=PROGRESS, after=PROGRESS)
def test_a_hop_leads_to_the_state_that_it_was_measured_at(before, after):
    hop = hop_between(np.array(before), np.array(after))
    assert -1 <= hop <= 1
    assert float(apply_hop(np.array(before), hop)) == pytest.approx(after, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(hops=HOPS)
def test_rebuilt_progress_stays_between_zero_and_one(hops):
    found = fused_progress(np.array(hops), np.array(hops), -np.abs(hops))
    assert found.shape == (4, len(hops) + 1) and (found >= 0).all() and (found <= 1).all()
    assert (found[:, 0] == 0).all()


def test_fused_progress_equals_the_worked_example_and_a_slow_loop():
    found = fused_progress(np.array([0.5, -0.5]), np.array([0.5, 0.2]), np.array([-0.5, -0.9]))
    assert found[1:, 1:].tolist() == [[0.5, 0.25], [0.5, 0.2], pytest.approx([0.5, 0.1])]
    assert found[0].tolist() == pytest.approx([0, 0.5, 0.55 / 3], abs=1e-12)
    rng = np.random.default_rng(0)
    hops = rng.uniform(-1, 1, (3, 20))
    found, inside = fused_progress(*hops), 0.0
    for n in range(20):
        hop = hops[0, n]
        inside = inside + (1 - inside) * hop if hop >= 0 else inside + inside * hop
        parts = [inside, min(max(hops[1, n], 0), 1), min(max(1 + hops[2, n], 0), 1)]
        assert found[0, n + 1] == pytest.approx(sum(parts) / 3, abs=1e-9)


def test_exact_hops_rebuild_the_true_progress():
    true = np.array([0, 0.3, 0.2, 0.9, 1.0])
    incremental = hop_between(true[:-1], true[1:])
    found = fused_progress(incremental, hop_between(np.zeros(4), true[1:]), hop_between(np.ones(4), true[1:]))
    assert np.abs(found - true).max() < 1e-12


def test_numbers_out_of_range_are_refused():
    for call in (hop_between, apply_hop):
        with pytest.raises(InputError, match="from 0 to 1"):
            call(np.array([1.2]), np.array([0.5]))
    with pytest.raises(InputError, match="finite hop of each kind"):
        fused_progress(np.zeros(2), np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="finite hop of each kind"):
        fused_progress(np.array([np.nan]), np.zeros(1), np.zeros(1))
