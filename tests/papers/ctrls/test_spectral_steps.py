import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.ctrls.spectral_steps import StepStates, spectral_features
from handaxe.testing.make_records import make_trajectory


def by_loop(hidden_TD, rank):
    """Eigenpairs of the Gram matrix, one at a time by deflation of the eigendecomposition."""
    gram_DD = sum(np.outer(row, row) for row in hidden_TD)
    found = []
    for _ in range(rank):
        values, vectors = np.linalg.eigh(gram_DD)
        value, q = values[-1], vectors[:, -1]
        q = q if q[np.abs(q).argmax()] > 0 else -q
        found += list(np.sqrt(max(value, 0.0)) * q)
        gram_DD = gram_DD - value * np.outer(q, q)
    return np.array(found)


def test_spectral_features_of_orthogonal_rows_by_hand():
    assert spectral_features(np.array([[3.0, 0.0], [0.0, -2.0]]), rank=2) == pytest.approx([3, 0, 0, 2], abs=1e-9)
    assert spectral_features(np.array([[3.0, 4.0]]), rank=2) == pytest.approx([3, 4, 0, 0], abs=1e-9)


@given(st.integers(0, 9))
def test_spectral_features_match_a_loop_and_ignore_the_order_of_tokens(seed):
    hidden_TD = np.random.default_rng(seed).normal(size=(5, 4))
    found = spectral_features(hidden_TD, rank=3)
    assert found == pytest.approx(by_loop(hidden_TD, 3), abs=1e-6)
    assert found == pytest.approx(spectral_features(hidden_TD[::-1], rank=3), abs=1e-6)
    assert (found**2).sum() <= (hidden_TD**2).sum() + 1e-9


@pytest.mark.parametrize("shape, rank", [((0, 3), 1), ((3,), 1), ((2, 3), 0)])
def test_spectral_features_reject_empty_steps_and_ranks(shape, rank):
    with pytest.raises(InputError, match="rank"):
        spectral_features(np.zeros(shape), rank=rank)


@pytest.fixture(scope="module")
def encoder():
    made = StepStates(states=2, rank=2)
    made.begin(LocalEngine(load("tiny").model))
    made.fit([make_trajectory(layouts=["UUt pp tTt ppp tTt pppp"])])
    return made


def test_states_are_the_nearest_cluster_of_every_turn(encoder):
    one = make_trajectory(layouts=["UUt pp tTt ppp tTt pppp"])
    feature_NF = encoder.features(one)
    state_N = encoder.states(one)
    assert set(state_N.tolist()) == {0, 1}
    mean_CF = np.stack([feature_NF[state_N == c].mean(axis=0) for c in (0, 1)])
    for n in range(3):
        assert state_N[n] == np.argmin([((feature_NF[n] - mean) ** 2).sum() for mean in mean_CF])


def test_the_state_of_a_turn_ignores_later_turns(encoder):
    short = make_trajectory(layouts=["UUt pp"])
    assert encoder.states(short)[0] == encoder.states(make_trajectory(layouts=["UUt pp tTt ppp"]))[0]
    assert encoder.states(make_trajectory(texts=[])).tolist() == []


def test_step_states_name_what_is_missing(encoder):
    one = make_trajectory(layouts=["UUt pp"])
    with pytest.raises(InputError, match="2 states"):
        StepStates(states=1)
    with pytest.raises(InputError, match="begin"):
        StepStates(states=2).fit([one])
    with pytest.raises(InputError, match="fit"):
        StepStates(states=2).states(one)
    with pytest.raises(InputError, match="local engine"):
        StepStates(states=2).begin(object())
    with pytest.raises(InputError, match="1 steps for 2 states"):
        encoder.fit([one])
