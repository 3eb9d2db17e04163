"""Each promise of the contract is broken by one credit here, and found."""

import numpy as np
import pytest

from handaxe.core.records import Advantages
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.transformed import transformed
from handaxe.ops.ragged import rewards_of, scatter_group
from handaxe.testing.credit import check_advantages, check_credit
from handaxe.testing.records import make_group

GOOD = constant_baseline()


def spread(group, values):
    return Advantages(scatter_group(group, np.nan_to_num(values)))


def changed(change):
    """A good credit whose arrays are changed."""

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
        return changed(lambda a: a * len(calls))(group, scores)

    return credit


def looks_under_the_mask(group, scores):
    bonus = [sum(np.mean(s.features["value"]) for s in t.sequences if s.features) for t in group]
    return spread(group, rewards_of(group, scores) + bonus)


def by_place(group, scores):
    return spread(group, rewards_of(group, scores) * np.arange(1, len(group) + 1))


def counts_failures_as_zero(group, scores):
    reward = rewards_of(group, scores)
    return spread(group, reward - np.nansum(reward) / max(len(group), 1))


def punishes_failures(group, scores):
    return spread(group, np.nan_to_num(rewards_of(group, scores), nan=-1.0))


def over_rows(group, scores):
    """Statistics over rows instead of rollouts."""
    reward, rows = rewards_of(group, scores), [len(t.sequences) for t in group]
    scored = np.repeat(reward, rows)
    scored = scored[~np.isnan(scored)]
    return spread(group, reward - (scored.mean() if len(scored) else 0))


def per_row(group, scores):
    """A sibling's reward shared out among its rows."""
    return spread(group, rewards_of(group, scores) / np.array([len(t.sequences) for t in group]))


def needs_two(group, scores):
    return spread(group, rewards_of(group, scores) / (len(group) - 1))


def by_rank(group, scores):
    """Ranks in place of rewards: of equal ones the later is better."""
    reward = rewards_of(group, scores)
    scored = np.flatnonzero(~np.isnan(reward))
    rank = np.zeros(len(group))
    rank[scored] = np.argsort(np.argsort(reward[scored], kind="stable"), kind="stable") - (len(scored) - 1) / 2
    return spread(group, rank)


def rank_that_compares(group, scores):
    """As `by_rank`, and nothing where all are equal: what a check of equal outcomes alone lets through."""
    reward = rewards_of(group, scores)
    scored = reward[~np.isnan(reward)]
    close = not len(scored) or np.ptp(scored) < 1e-9
    return spread(group, 0 * np.nan_to_num(reward)) if close else by_rank(group, scores)


def scale_of(group, scores):
    return max(float(np.nanmax(np.abs(rewards_of(group, scores)), initial=0.0)), 1e-9)


def scale_of_the_first_group():
    """Divides by the greatest reward of the first group it sees, in a variable that it closed over."""
    scale = None

    def credit(group, scores):
        nonlocal scale
        if scale is None and len(group) > 1:
            scale = scale_of(group, scores)
        return spread(group, rewards_of(group, scores) / (scale or 1.0))

    return credit


class ScaleOfTheFirstGroup:
    """The same in an attribute, with or without telling."""

    scale = 0.0

    def __call__(self, group, scores):
        if not self.scale and len(group) > 1:
            self.scale = scale_of(group, scores)
        return spread(group, rewards_of(group, scores) / (self.scale or 1.0))


class Told(ScaleOfTheFirstGroup):
    """A correct stateful credit, as CONTRIBUTING has it."""

    def state_dict(self):
        return {"scale": self.scale}

    def load_state_dict(self, state):
        self.scale = state["scale"]


class RunningScale(Told):
    """Changes with every group."""

    def __call__(self, group, scores):
        if len(group) > 1:
            self.scale = 0.9 * self.scale + 0.1 * scale_of(group, scores)
        return spread(group, rewards_of(group, scores) / (self.scale or 1.0))


class HalfTold(RunningScale):
    """Keeps a count besides, which its state does not tell."""

    count = 0

    def __call__(self, group, scores):
        self.count += len(group) == 4
        said = super().__call__(group, scores)
        return spread(group, rewards_of(group, scores) * 0) if self.count > 2 else said


class Forgets(RunningScale):
    def load_state_dict(self, state):
        self.scale = 0.0


def test_good_stateful_credits_pass():
    check_credit(Told())
    check_credit(RunningScale())
    check_credit(transformed(RunningScale()))


def test_good_credits_pass():
    check_credit(GOOD)
    check_credit(group_norm(), compares=True)
    check_credit(gae())


@pytest.mark.parametrize(
    "credit, message",
    [
        (changed(lambda a: a + 1), "off the mask"),
        (changed(lambda a: a[:-1]), "shapes"),
        (changed(lambda a: a.astype(np.float32)), "float32"),
        (changed(lambda a: np.where(a != 0, np.inf, 0)), "finite"),
        (lambda group, scores: Advantages(GOOD(group, scores).tokens[1:]), "siblings"),
        (impure, "changed what it was given"),
        (memory(), "two things"),
        (looks_under_the_mask, "policy did not write"),
        (by_place, "order"),
        (counts_failures_as_zero, "never scored changes"),
        (punishes_failures, "never scored gets"),
        (over_rows, "sequences"),
        (per_row, "sequences"),
        (by_rank, "order"),
        (rank_that_compares, "order"),
        (scale_of_the_first_group(), "asked other groups before"),
        (ScaleOfTheFirstGroup(), "asked other groups before"),
        (transformed(scale_of_the_first_group()), "asked other groups before"),
        (HalfTold(), "two things|asked other groups before"),
        (Forgets(), "take back"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_credits_are_found(credit, message):
    with pytest.raises(AssertionError, match=message):
        check_credit(credit, compares=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_group_of_one_is_tried():
    with pytest.raises(AssertionError):
        check_credit(needs_two)


def test_an_array_of_the_input_may_not_be_handed_back():
    def credit(group, scores):
        return Advantages(tuple(tuple(s.features["gift"] for s in t.sequences) for t in group))

    with pytest.raises(AssertionError, match="hands back"):
        check_credit(credit, features=("gift",))


@pytest.mark.parametrize("credit, message", [(GOOD, "exactly 0"), (group_norm(lone="reward"), "without siblings")])
def test_credits_that_compare_give_nothing_where_there_is_nothing_to_compare(credit, message):
    with pytest.raises(AssertionError, match=message):
        check_credit(credit, compares=True)


def test_naive_normalisation_is_found():
    """Without a look at how equal rewards are, rounding over a small eps is an advantage."""

    def credit(group, scores):
        reward = rewards_of(group, scores)
        scored = reward[~np.isnan(reward)]
        if len(scored) < 2:
            return spread(group, 0 * reward)
        return spread(group, (reward - scored.mean()) / (scored.std() + 1e-20))

    for compares in (True, None):
        with pytest.raises(AssertionError, match="equal outcomes"):
            check_credit(credit, compares=compares)
    check_credit(group_norm(lone="reward"))


def test_returns_are_checked_too():
    group = make_group(layouts=["Utp"])
    tokens = ((np.zeros(3),),)
    check_advantages(Advantages(tokens, tokens), group)
    with pytest.raises(AssertionError, match="returns"):
        check_advantages(Advantages(tokens, ((np.ones(3),),)), group)


def test_what_trains_is_checked_too():
    group = make_group(layouts=["Utp"])
    tokens = ((np.zeros(3),),)
    check_advantages(Advantages(tokens, trains=((np.ones(3, bool),),)), group)
    for wrong in ((np.ones(2, bool),), (np.ones(3),), ()):
        with pytest.raises(AssertionError, match="trains"):
            check_advantages(Advantages(tokens, trains=(wrong,)), group)
