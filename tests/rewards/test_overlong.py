import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.overlong import overlong
from handaxe.testing.records import make_group, make_trajectory

CONTRACT = [{"limit": 6, "cache": 4}]


def outcome(reward, *layouts):
    return reward(make_group(trajectories=[make_trajectory(layouts=layout) for layout in layouts])).outcome.tolist()


def test_example():
    lengths = (10000, 17384, 18000, 20480)
    reward = overlong(limit=20480, cache=4096)
    given = outcome(reward, *(["Ut" + "p" * n] for n in lengths))
    assert given == pytest.approx([0, -0.24414, -0.39453, -1], abs=5e-6)


@pytest.mark.parametrize(
    ("limit", "cache", "length", "given"), [(2048, 1024, 1600, -0.5625), (20480, 4096, 18432, -0.5)]
)
def test_what_it_takes_in_tapo_and_in_open_agent_rl(limit, cache, length, given):
    assert outcome(overlong(limit=limit, cache=cache), ["Ut" + "p" * length]) == pytest.approx([given])


def test_over_the_limit_it_stays_at_minus_one():
    assert outcome(overlong(limit=8, cache=4), ["Utpppppppppppp"], ["Utpppp"], ["Utppppp"]) == [-1, 0, -0.25]


def test_tool_replies_do_not_count_and_all_sequences_do():
    assert outcome(overlong(limit=8, cache=4), ["UtppppTTTTTTTTtp"], ["Utpppp", "Utpp"]) == [-0.25, -0.5]


@pytest.mark.parametrize("limit, cache", [(8, 0), (8, 9), (8, -1)])
def test_a_cache_that_makes_no_sense(limit, cache):
    with pytest.raises(InputError):
        overlong(limit=limit, cache=cache)
