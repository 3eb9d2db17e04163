from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bm25s")

from handaxe import rewards
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.chain_of_agents.repeated_segments import count_repeats, repeated_segments
from handaxe.papers.chain_of_agents.role_hops import role_hops
from handaxe.testing.make_records import make_group, make_trajectory

LAB = [
    LabCase(
        "correct - 0.5 repeated_segments()",
        partial(role_hops, size=40),
        lambda world: rewards.weighted({"correct": (1.0, world.correct), "repeated": (-0.5, repeated_segments())}),
    )
]


@pytest.mark.parametrize(
    "texts, calls, repeated",
    [
        (("", ""), (["search"], ["search"]), 1),
        (("", ""), (["search"], ["read"]), 0),
        (("<a>x</a>", "<a>x </a>"), ([], []), 1),
        (("<a>x</a>", "<b>x</b>"), ([], []), 0),
        (("<a>x</a><a>y</a>",), ([],), 0),
        (("plain", "plain"), ([], []), 0),
        ((), (), 0),
    ],
)
def test_repeats_are_equal_calls_or_equal_segments(texts, calls, repeated):
    one = make_trajectory(texts=list(texts), calls=[list(own) for own in calls])
    assert repeated_segments()(make_group(trajectories=[one])).outcome.tolist() == [repeated]


@given(st.lists(st.sampled_from("abcd"), max_size=8))
def test_count_repeats_against_a_slow_loop(names):
    one = make_trajectory(texts=[""] * len(names), calls=[[name] for name in names])
    slow = sum(name in names[:k] for k, name in enumerate(names))
    assert count_repeats(one) == slow


def test_the_reward_of_the_example():
    """Correct with a repeated call: 1 - 0.5 = 0.5."""
    one = make_trajectory(texts=["", ""], calls=[["search"], ["search"]])
    parts = {"correct": (1.0, rewards.outcome(lambda t: 1.0)), "repeated": (-0.5, repeated_segments())}
    assert rewards.weighted(parts)(make_group(trajectories=[one])).outcome.tolist() == [0.5]
