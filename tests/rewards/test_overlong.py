from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.overlong import overlong
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"limit": 6, "cache": 4}]
LAB = [
    LabCase(
        "overlong(limit=64, cache=32)",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: overlong(limit=64, cache=32),
    ),
]


def outcome(reward, *layouts):
    return reward(make_group(trajectories=[make_trajectory(layouts=layout) for layout in layouts])).outcome.tolist()


def test_overlong_matches_the_docstring_example():
    lengths = (10000, 17384, 18000, 20480)
    reward = overlong(limit=20480, cache=4096)
    given = outcome(reward, *(["Ut" + "p" * n] for n in lengths))
    assert given == pytest.approx([0, -0.24414, -0.39453, -1], abs=5e-6)


@pytest.mark.parametrize(
    ("limit", "cache", "length", "given"), [(2048, 1024, 1600, -0.5625), (20480, 4096, 18432, -0.5)]
)
def test_penalties_with_the_limits_of_two_papers(limit, cache, length, given):
    assert outcome(overlong(limit=limit, cache=cache), ["Ut" + "p" * length]) == pytest.approx([given])


def test_the_penalty_is_at_most_one():
    assert outcome(overlong(limit=8, cache=4), ["Utpppppppppppp"], ["Utpppp"], ["Utppppp"]) == [-1, 0, -0.25]


def test_tool_replies_do_not_count_and_all_sequences_do():
    assert outcome(overlong(limit=8, cache=4), ["UtppppTTTTTTTTtp"], ["Utpppp", "Utpp"]) == [-0.25, -0.5]


@pytest.mark.parametrize("limit, cache", [(8, 0), (8, 9), (8, -1)])
def test_a_cache_outside_the_limit_is_an_error(limit, cache):
    with pytest.raises(InputError):
        overlong(limit=limit, cache=cache)
