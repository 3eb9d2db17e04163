import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.oni.counted_messages import counted_messages, message_counts
from handaxe.papers.oni.messages import messages_of
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [LabCase("counted_messages(known)", arithmetic, lambda world: counted_messages(scores=known))]


def known(messages):
    return np.array([1.0 if "k" in one else 0.5 if one else 9.0 for one in messages])


CONTRACT = [{"scores": known}, {"scores": known, "beta": 0.0}]


def rollout(*texts):
    return make_trajectory(texts=[""] * len(texts), replies=[[one] if one else [] for one in texts])


def test_counted_messages_equals_the_worked_example():
    (turns,) = counted_messages(scores=known)(make_group(trajectories=[rollout("k", "k", "a", "", "k")])).turns
    assert turns == pytest.approx([1, 1 / 8, 0.5, 0, 1 / 27], abs=1e-12)
    (flat,) = counted_messages(scores=known, beta=0)(make_group(trajectories=[rollout("k", "k")])).turns
    assert flat.tolist() == [1, 1], "without the division, one message is worth its count"
    assert message_counts(["a", "b", "a"]).tolist() == [1, 1, 2]


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.sampled_from(["k", "a", "kk", ""]), min_size=1, max_size=7), beta=st.floats(0, 4))
def test_counted_messages_equals_a_slow_loop(texts, beta):
    one = rollout(*texts)
    slow = []
    for n, text in enumerate(messages_of(one)):
        count = sum(other == text for other in texts[: n + 1])
        slow.append(float(known([text])[0]) / count**beta if text else 0.0)
    scores = counted_messages(scores=known, beta=beta)(make_group(trajectories=[one]))
    assert scores.turns[0] == pytest.approx(slow, abs=1e-9) and scores.outcome.tolist() == [0]


@pytest.mark.parametrize("beta", [-1, float("nan"), float("inf")])
def test_a_bad_exponent_is_refused(beta):
    with pytest.raises(InputError, match="give 0 or more"):
        counted_messages(scores=known, beta=beta)
