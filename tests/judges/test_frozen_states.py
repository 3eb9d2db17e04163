import numpy as np
import pytest

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.judges.frozen_states import FrozenStates, state_texts
from handaxe.models import load as loading
from handaxe.testing.make_records import make_task, make_trajectory


def rollout(*replies):
    return make_trajectory(
        texts=[""] * len(replies),
        calls=[["f"]] * len(replies),
        replies=[[reply] for reply in replies],
        task=make_task(question="goal. key f1"),
    )


@pytest.fixture(scope="module")
def policy():
    return loading.load("tiny")


@pytest.fixture(scope="module")
def frozen(policy):
    made = FrozenStates()
    made.begin(engines.LocalEngine(policy.model), policy.format)
    return made


def test_state_texts_equal_the_worked_example():
    texts = state_texts(rollout("+key", "+key locked f1"), window=2)
    assert texts == ["goal. key f1", "goal. key f1\n+key", "+key\n+key locked f1"]
    assert state_texts(rollout("+key", "", "open"), window=1) == ["goal. key f1", "+key", "+key", "open"]
    with pytest.raises(InputError, match="1 observation or more"):
        state_texts(rollout("a"), window=0)


def test_states_are_those_of_the_model_one_text_at_a_time(policy, frozen):
    import torch

    one = rollout("+key", "+key locked f1", "open")
    (found,) = frozen.states([one])
    for text, state in zip(state_texts(one), found, strict=True):
        ids = policy.format.start((Message("user", text),), ()).ids
        with torch.inference_mode():
            hidden = policy.model.hidden(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))
        assert np.abs(hidden[0, -1].double().numpy() - state).max() < 1e-5


def test_equal_texts_have_equal_states_at_any_turn(frozen):
    first, second = frozen.states([rollout("a", "b"), rollout("c", "a", "b")])
    assert first[2].tolist() == second[3].tolist() and first.shape == (3, 128)
    again = frozen.states([rollout("x", "y z")]) and frozen.states([rollout("a", "b"), rollout("c", "a", "b")])
    assert again[0].tolist() == first.tolist(), "no state is kept between calls"


def test_a_call_before_begin_is_refused():
    with pytest.raises(InputError, match="begin"):
        FrozenStates().states([rollout("a")])
    with pytest.raises(InputError, match="local engine"):
        FrozenStates().begin(None, None)
    with pytest.raises(InputError, match="give 1 or more"):
        FrozenStates(rows=0)
