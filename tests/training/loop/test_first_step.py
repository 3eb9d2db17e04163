"""Contracts of the user's roles on the first step of a run."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.credit.group_norm import group_norm
from handaxe.losses.policy import policy as policy_loss
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.selection.keep_all import keep_all
from handaxe.testing.random_groups import random_group, random_scores
from handaxe.training.loop import first_step
from handaxe.training.loop.first_step import FirstStep

LOSS = policy_loss(ratio=token(), surrogate=clip(), reduction=token_mean())
FEATURES = ("old_logp", "value")
GROUPS = [random_group(seed, size=3, features=FEATURES) for seed in range(2)]


def rate(credit):
    groups = []
    for seed, group in enumerate(GROUPS):
        scores = random_scores(group, seed)
        task = replace(group.task, id=f"task-{seed}")
        members = tuple(replace(one, id=f"{seed}/{one.id}", task=task) for one in group)
        group = replace(group, task=task, trajectories=members)
        groups.append(RatedGroup.of(group, scores, credit(group, scores)))
    return groups


def check(*, reward=None, credit=None, select=None, transform=None, loss=LOSS):
    credit = credit or group_norm()
    first = FirstStep(
        reward=reward or exact_match(), credit=credit, select=select or keep_all(), transform=transform, loss=loss
    )
    rated = rate(credit)
    first.check_rated(rated)
    added = list((select or keep_all())(rated))
    first.check_selected(rated, added, list(transform(added)) if transform else added, pad_id=0)


def tokens(group, value):
    return tuple(tuple(np.where(s.mask, value(i, s), 0.0) for s in one.sequences) for i, one in enumerate(group))


def centred(group, scores):
    """A correct credit of a user."""
    known = np.nan_to_num(scores.outcome - np.nanmean(scores.outcome)) if len(group) else scores.outcome
    return Advantages(tokens(group, lambda i, s: known[i]))


def nan_for_unscored(group, scores):
    return Advantages(tokens(group, lambda i, s: scores.outcome[i] - np.nanmean(scores.outcome)))


def pulled_by_unscored(group, scores):
    known = np.nan_to_num(scores.outcome)
    found = np.where(np.isnan(scores.outcome), 0.0, known - known.mean())
    return Advantages(tokens(group, lambda i, s: found[i]))


def off_the_mask(group, scores):
    return Advantages(tuple(tuple(np.ones(len(s)) for s in one.sequences) for one in group))


def reads_other_tokens(group, scores):
    return Advantages(tokens(group, lambda i, s: s.features["value"].sum()))


def random_credit(group, scores):
    return Advantages(tokens(group, lambda i, s: np.random.random()))


def changes_scores(group, scores):
    scores.outcome[:] = scores.outcome + 1
    return centred(group, scores)


def counting():
    calls = []

    def credit(group, scores):
        calls.append(1)
        return Advantages(tokens(group, lambda i, s: float(len(calls))))

    return credit


@pytest.mark.parametrize(
    "credit, problem",
    [
        (nan_for_unscored, "is not finite, in a group with an unscored sibling"),
        (pulled_by_unscored, "an unscored sibling .* changes the advantages of the others"),
        (off_the_mask, "is not 0 off the mask"),
        (reads_other_tokens, "features of tokens that the policy did not write"),
        (random_credit, "two calls with one group differ"),
        (counting(), "two calls with one group differ"),
        (changes_scores, "it changes its input"),
        (lambda group, scores: None, "the result is a NoneType, not Advantages"),
    ],
)
def test_a_credit_of_the_user_is_named_with_its_problem(credit, problem):
    with pytest.raises(InputError, match=f"the credit .* breaks its contract: .*{problem}.*check_credit"):
        check(credit=credit)


def test_correct_roles_pass_and_leave_random_states_alone():
    np.random.seed(0), torch.manual_seed(0)
    check(credit=centred, select=lambda rated: list(rated)[:1], transform=lambda rated: list(rated), reward=own_reward)
    first = np.random.random(), float(torch.rand(()))
    np.random.seed(0), torch.manual_seed(0)
    assert first == (np.random.random(), float(torch.rand(())))


@outcome
def own_reward(trajectory):
    return len(trajectory.turns)


def by_place(group):
    return Scores(np.arange(len(group), dtype=float))


def noisy(group):
    return Scores(np.random.random(len(group)))


def test_a_reward_that_reads_the_order_of_siblings_is_named():
    with pytest.raises(InputError, match="the reward 'by_place' breaks its contract: siblings in reverse order get"):
        check(reward=by_place)


def test_random_scores_of_a_reward_are_accepted():
    check(reward=noisy)


def loses_trained(rated):
    return [replace(one, trained=one.trained.astype(float)) for one in rated]


def random_selector(rated):
    return [one for one in rated if np.random.random() < 0.5] or [rated[int(np.random.random() * len(rated))]]


def in_place(rated):
    for one in rated:
        one.trained[0] = not one.trained[0]
    return list(rated)


@pytest.mark.parametrize(
    "select, problem",
    [(loses_trained, "is not one bool a sibling"), (in_place, "it changes its input: use dataclasses.replace")],
)
def test_a_selector_of_the_user_is_named_with_its_problem(select, problem):
    with pytest.raises(InputError, match=f"the select '{select.__name__}' breaks its contract: .*{problem}"):
        check(select=select)


def test_a_random_selector_is_named():
    with pytest.raises(InputError, match="the select 'random_selector' .* two calls with the same groups differ"):
        for _ in range(40):
            check(select=random_selector)


def test_a_transform_with_nan_is_named():
    def broken(rated):
        return [
            replace(one, advantages=replace(one.advantages, tokens=tokens(one.group, lambda i, s: np.nan)))
            for one in rated
        ]

    with pytest.raises(InputError, match="the transform .*broken' breaks its contract: .* is not finite"):
        check(transform=broken)


def masked(policy, batch):
    return torch.where(batch.mask_BT, -(policy.logp_BT * batch.adv_BT), 0.0).sum()


def correct(policy, batch):
    return LossOut(masked(policy, batch) / batch.denominators.tokens, {})


def local_mean(policy, batch):
    return LossOut(masked(policy, batch) / batch.mask_BT.sum().clamp(min=1), {})


def no_mask(policy, batch):
    return LossOut(-(policy.logp_BT * batch.adv_BT).sum() / batch.denominators.tokens, {})


def penalty(policy, batch):
    return LossOut(masked(policy, batch) / batch.denominators.tokens + 1.0, {})


def not_finite(policy, batch):
    return LossOut(masked(policy, batch) / 0.0, {})


def bad_metric(policy, batch):
    return correct(policy, batch)._replace(metrics={"size": policy.logp_BT.sum()})


@pytest.mark.parametrize(
    "loss, problem",
    [
        (local_mean, "two micro-batches do not add up"),
        (no_mask, "values off the mask matter"),
        (penalty, "two micro-batches do not add up|without trained tokens the loss is 1"),
        (not_finite, "the value is"),
        (bad_metric, "metrics are no finite floats"),
        (lambda policy, batch: None, "the result is a NoneType, not a LossOut"),
    ],
)
def test_a_loss_of_the_user_is_named_with_its_problem(loss, problem):
    with pytest.raises(InputError, match=f"the loss .* breaks its contract: .*({problem}).*check_loss"):
        check(loss=loss)


def test_a_correct_loss_and_a_policy_loss_with_a_part_of_the_user_pass():
    check(loss=correct)

    def surrogate(*given):
        return clip()(*given)

    check(loss=policy_loss(ratio=token(), surrogate=surrogate, reduction=token_mean()))


def test_a_role_without_code_of_the_user_is_not_called_again(monkeypatch):
    calls = []

    def credit(group, scores):
        calls.append(group)
        return centred(group, scores)

    monkeypatch.setattr(first_step, "user_function", lambda part: "")
    check(credit=credit)
    assert len(calls) == len(GROUPS)
