"""Credits that each break one promise of the contract."""

import numpy as np
import pytest

from handaxe.core.records import Advantages
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.transformed import transformed
from handaxe.ops.ragged import group_rewards, scatter_group
from handaxe.testing.credit import check_advantages, check_credit
from handaxe.testing.make_records import make_group

GOOD = constant_baseline()


def spread(group, values):
    return Advantages(scatter_group(group, np.nan_to_num(values)))


def changed_credit(change):
    """Good credit with changed arrays."""

    def credit(group, scores):
        said = GOOD(group, scores)
        return Advantages(tuple(tuple(change(a) for a in own) for own in said.tokens))

    return credit


def impure(group, scores):
    said = GOOD(group, scores)
    scores.outcome[:1] += 1
    return said


def memory():
    calls = []

    def credit(group, scores):
        calls.append(1)
        return changed_credit(lambda a: a * len(calls))(group, scores)

    return credit


def looks_under_the_mask(group, scores):
    bonus = [sum(np.mean(s.features["value"]) for s in t.sequences if s.features) for t in group]
    return spread(group, group_rewards(group, scores) + bonus)


def by_place(group, scores):
    return spread(group, group_rewards(group, scores) * np.arange(1, len(group) + 1))


def counts_failures_as_zero(group, scores):
    reward = group_rewards(group, scores)
    return spread(group, reward - np.nansum(reward) / max(len(group), 1))


def punishes_failures(group, scores):
    return spread(group, np.nan_to_num(group_rewards(group, scores), nan=-1.0))


def over_rows(group, scores):
    """Statistics over rows instead of rollouts."""
    reward, rows = group_rewards(group, scores), [len(t.sequences) for t in group]
    scored = np.repeat(reward, rows)
    scored = scored[~np.isnan(scored)]
    return spread(group, reward - (scored.mean() if len(scored) else 0))


def per_row(group, scores):
    """A sibling's reward divided among its rows."""
    return spread(group, group_rewards(group, scores) / np.array([len(t.sequences) for t in group]))


def needs_two(group, scores):
    return spread(group, group_rewards(group, scores) / (len(group) - 1))


def by_rank(group, scores):
    """Ranks instead of rewards: of equal rewards the later is better."""
    reward = group_rewards(group, scores)
    scored = np.flatnonzero(~np.isnan(reward))
    rank = np.zeros(len(group))
    rank[scored] = np.argsort(np.argsort(reward[scored], kind="stable"), kind="stable") - (len(scored) - 1) / 2
    return spread(group, rank)


def rank_that_compares(group, scores):
    """Like `by_rank`, but 0 if all are equal: passes a check of equal outcomes only."""
    reward = group_rewards(group, scores)
    scored = reward[~np.isnan(reward)]
    close = not len(scored) or np.ptp(scored) < 1e-9
    return spread(group, 0 * np.nan_to_num(reward)) if close else by_rank(group, scores)


def scale_of(group, scores):
    return max(float(np.nanmax(np.abs(group_rewards(group, scores)), initial=0.0)), 1e-9)


def scale_of_the_first_group():
    """Divides by the largest reward of the first group, stored in a closure."""
    scale = None

    def credit(group, scores):
        nonlocal scale
        if scale is None and len(group) > 1:
            scale = scale_of(group, scores)
        return spread(group, group_rewards(group, scores) / (scale or 1.0))

    return credit


class ScaleOfTheFirstGroup:
    """Divides by the largest reward of the first group, stored in an attribute."""

    scale = 0.0

    def __call__(self, group, scores):
        if not self.scale and len(group) > 1:
            self.scale = scale_of(group, scores)
        return spread(group, group_rewards(group, scores) / (self.scale or 1.0))


class StatefulScale(ScaleOfTheFirstGroup):
    """Correct stateful credit, as in CONTRIBUTING."""

    def state_dict(self):
        return {"scale": self.scale}

    def load_state_dict(self, state):
        self.scale = state["scale"]


class RunningScale(StatefulScale):
    """Scale that changes with every group."""

    def __call__(self, group, scores):
        if len(group) > 1:
            self.scale = 0.9 * self.scale + 0.1 * scale_of(group, scores)
        return spread(group, group_rewards(group, scores) / (self.scale or 1.0))


class PartialState(RunningScale):
    """Count outside the state_dict."""

    count = 0

    def __call__(self, group, scores):
        self.count += len(group) == 4
        said = super().__call__(group, scores)
        return spread(group, group_rewards(group, scores) * 0) if self.count > 2 else said


class Forgets(RunningScale):
    def load_state_dict(self, state):
        self.scale = 0.0


def test_good_stateful_credits_pass():
    check_credit(StatefulScale())
    check_credit(RunningScale())
    check_credit(transformed(RunningScale()))


def test_good_credits_pass():
    check_credit(GOOD)
    check_credit(group_norm(), compares=True)
    check_credit(gae())


@pytest.mark.parametrize(
    "credit, message",
    [
        (changed_credit(lambda a: a + 1), "off the mask"),
        (changed_credit(lambda a: a[:-1]), "shapes"),
        (changed_credit(lambda a: a.astype(np.float32)), "float32"),
        (changed_credit(lambda a: np.where(a != 0, np.inf, 0)), "finite"),
        (lambda group, scores: Advantages(GOOD(group, scores).tokens[1:]), "siblings"),
        (impure, "changed its input"),
        (memory(), "two calls"),
        (looks_under_the_mask, "policy did not write"),
        (by_place, "order"),
        (counts_failures_as_zero, "never scored changes"),
        (punishes_failures, "never scored gets"),
        (over_rows, "sequences"),
        (per_row, "sequences"),
        (by_rank, "order"),
        (rank_that_compares, "order"),
        (scale_of_the_first_group(), "earlier groups"),
        (ScaleOfTheFirstGroup(), "earlier groups"),
        (transformed(scale_of_the_first_group()), "earlier groups"),
        (PartialState(), "two calls|earlier groups"),
        (Forgets(), "does not restore"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_credits_raise(credit, message):
    with pytest.raises(AssertionError, match=message):
        check_credit(credit, compares=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_group_of_one_is_checked():
    with pytest.raises(AssertionError):
        check_credit(needs_two)


def test_returned_input_array_raises():
    def credit(group, scores):
        return Advantages(tuple(tuple(s.features["gift"] for s in t.sequences) for t in group))

    with pytest.raises(AssertionError, match="hands back"):
        check_credit(credit, features=("gift",))


@pytest.mark.parametrize("credit, message", [(GOOD, "exactly 0"), (group_norm(lone="reward"), "without siblings")])
def test_comparing_credit_with_nonzero_value_alone_raises(credit, message):
    with pytest.raises(AssertionError, match=message):
        check_credit(credit, compares=True)


def test_naive_normalization_raises():
    """Without a check for equal rewards, rounding divided by a small eps is an advantage."""

    def credit(group, scores):
        reward = group_rewards(group, scores)
        scored = reward[~np.isnan(reward)]
        if len(scored) < 2:
            return spread(group, 0 * reward)
        return spread(group, (reward - scored.mean()) / (scored.std() + 1e-20))

    for compares in (True, None):
        with pytest.raises(AssertionError, match="equal outcomes"):
            check_credit(credit, compares=compares)
    check_credit(group_norm(lone="reward"))


def test_returns_are_checked():
    group = make_group(layouts=["Utp"])
    tokens = ((np.zeros(3),),)
    check_advantages(Advantages(tokens, tokens), group)
    with pytest.raises(AssertionError, match="returns"):
        check_advantages(Advantages(tokens, ((np.ones(3),),)), group)


def test_trained_tokens_are_checked():
    group = make_group(layouts=["Utp"])
    tokens = ((np.zeros(3),),)
    check_advantages(Advantages(tokens, trains=((np.ones(3, bool),),)), group)
    for wrong in ((np.ones(2, bool),), (np.ones(3),), ()):
        with pytest.raises(AssertionError, match="trains"):
            check_advantages(Advantages(tokens, trains=(wrong,)), group)
