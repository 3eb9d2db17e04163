import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.ops.ragged import group_rewards
from handaxe.papers.hdpo.per_channel import per_channel
from handaxe.papers.thor.sibling_subset import sibling_subset
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.random_groups import random_group, random_scores


def above(channel):
    return lambda group, scores: group_rewards(group, scores, channel=channel) > 0


CONTRACT = [
    {"credit": group_norm(), "channels": {"second": sibling_subset(group_norm(std=None), above(None))}},
    {"credit": gae(), "channels": {"second": group_norm()}},
]
BIAS = "several losses, each with a credit"


def firsts(ragged, group):
    return [row[0][one.sequences[0].mask][0] for row, one in zip(ragged, group)]


def test_per_channel_stores_each_credit_under_its_name():
    group, scores = make_group(size=2), make_scores([1, 0], channels={"speed": [1, 3]})
    said = per_channel(group_norm(std=None), {"speed": group_norm(std=None, channel="speed")})(group, scores)
    assert firsts(said.tokens, group) == [0.5, -0.5]
    assert firsts(said.channels["speed"], group) == [-1, 1]


def test_per_channel_gives_the_two_advantages_of_hdpo():
    group = make_group(size=4)
    channels = {"efficiency": [1, 0.5, 0.25, 0]}
    scores = make_scores([1, 1, 1, 0.1], channels=channels, eligible=[True, True, True, False])
    among_right = sibling_subset(group_norm(channel="efficiency"), above("efficiency"))
    said = per_channel(group_norm(), {"efficiency": among_right})(group, scores)
    np.testing.assert_allclose(firsts(said.tokens, group), [0.5, 0.5, 0.5, -1.5], atol=1e-5)
    tool = firsts(said.channels["efficiency"], group)
    np.testing.assert_allclose(tool, [1.0911, -0.2182, -0.8729, 0], atol=5e-5)
    same = group_norm(channel="efficiency", stats_over="eligible")(group, scores)
    np.testing.assert_equal(said.channels["efficiency"], same.tokens)
    both = total({"accuracy": (1.0, group_norm()), "efficiency": (0.15, among_right)})(group, scores)
    np.testing.assert_allclose(firsts(both.tokens, group), [0.6637, 0.4673, 0.3691, -1.5], atol=5e-5)


def test_per_channel_keeps_targets_and_masks_of_the_main_credit():
    group = random_group(0, features=("value",))
    scores = random_scores(group, 0)
    said, alone = per_channel(gae(), {"second": group_norm()})(group, scores), gae()(group, scores)
    np.testing.assert_equal((said.tokens, said.returns, said.trains), (alone.tokens, alone.returns, alone.trains))


def test_per_channel_restores_state_by_name():
    class Counter:
        calls = 0

        def __call__(self, group, scores):
            self.calls += 1
            return group_norm()(group, scores)

        def state_dict(self):
            return {"calls": self.calls}

        def load_state_dict(self, state):
            self.calls = state["calls"]

    first, second = (per_channel(Counter(), {"kept": group_norm(), "second": Counter()}) for _ in range(2))
    assert isinstance(first, Stateful)
    first(make_group(size=2), make_scores([1, 2]))
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == {"": {"calls": 1}, "second": {"calls": 1}}


def test_per_channel_refuses_unnamed_channels_and_channels_with_targets():
    group = random_group(0, features=("value",))
    scores = random_scores(group, 0)
    with pytest.raises(InputError, match="at least one"):
        per_channel(group_norm(), {})
    with pytest.raises(InputError, match="'second' has value targets"):
        per_channel(group_norm(), {"second": gae()})(group, scores)
    kept = per_channel(group_norm(), {"second": group_norm()})
    with pytest.raises(InputError, match="around the total"):
        total({"both": (1.0, kept)})(group, scores)
    with pytest.raises(InputError, match="channels"):
        sibling_subset(kept, above(None))(group, scores)
