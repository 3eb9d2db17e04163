from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core.records import Branch
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.group_norm import group_norm
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.transformed import transformed
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.reinforce import reinforce
from handaxe.losses.terms.entropy import entropy
from handaxe.losses.terms.kl import kl
from handaxe.ops.turn_tree import token_owners
from handaxe.papers.llds.keep_likelihood import keep_likelihood
from handaxe.testing.batches import random_policy
from handaxe.testing.losses import differentiate
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory
from handaxe.training.loop.batch import make_batch

BIAS = [
    BiasCase(
        "mask_shared_prefix() of return_to_go()", lambda: transformed(return_to_go(), mask_shared_prefix()), forks=True
    )
]


OF_GROUPS = True
FEATURES = {"ref_logp": -0.7, "old_logp": -0.9}


def apply(transform, group, advantages):
    return transformed(lambda group, scores: advantages, transform)(group, make_scores([0.0] * len(group)))


def rollout(name, *layouts, left=None):
    one = make_trajectory(layouts=list(layouts), features=FEATURES)
    return replace(one, id=name, branch_of=None if left is None else Branch(*left))


def forked():
    """t/1 forks from t/0 in its second sequence, t/2 from t/1 within a turn, t/3 from a rollout of another group."""
    rows = ("UUt pp tTt p", "Ut pp tTt pp")
    return make_group(
        trajectories=[
            rollout("t/0", *rows),
            rollout("t/1", *rows, left=("t/0", 1, 2)),
            rollout("t/2", *rows, left=("t/1", 1, 8)),
            rollout("t/3", "Ut p tTt ppp", left=("elsewhere", 0, 7)),
        ]
    )


def test_mask_shared_prefix_trains_a_fork_from_its_fork_point_on():
    group = make_group(trajectories=[rollout("t/0", "UUt p t pp"), rollout("t/1", "UUt p t pp", left=("t/0", 0, 4))])
    found = transformed(constant_baseline(), mask_shared_prefix())(group, make_scores([1.0, 1.0]))
    assert [np.flatnonzero(own[0]).tolist() for own in found.trains] == [[3, 5, 6], [5, 6]]
    assert [own[0][group[0].sequences[0].mask].tolist() for own in found.tokens] == [[1, 1, 1], [0, 1, 1]]


def test_mask_shared_prefix_equals_a_slow_loop_over_tokens():
    group = forked()
    plain = group_norm()(group, make_scores([1.0, 0.0, 0.5, 2.0]))
    found, owner = apply(mask_shared_prefix(), group, plain), token_owners(group)
    count = 0
    for i, one in enumerate(group):
        for s, sequence in enumerate(one.sequences):
            for t in range(len(sequence)):
                mine = bool(sequence.mask[t]) and owner[i][s][t] == i
                count += mine
                assert found.trains[i][s][t] == mine
                assert found.tokens[i][s][t] == (plain.tokens[i][s][t] if mine else 0.0)
    assert count == 7 + 4 + 1 + 2


def test_mask_shared_prefix_keeps_tokens_masked_that_the_credit_masks():
    group = forked()
    plain = group_norm()(group, make_scores([1.0, 0.0, 0.5, 2.0]))
    first = tuple(tuple(s.mask & (np.arange(len(s)) % 2 == 0) for s in one.sequences) for one in group)
    both = apply(mask_shared_prefix(), group, replace(plain, trains=first))
    alone = apply(mask_shared_prefix(), group, plain)
    for a, b, c in zip(both.trains, first, alone.trains, strict=True):
        assert all(np.array_equal(x, y & z) for x, y, z in zip(a, b, c, strict=True))


def test_mask_shared_prefix_returns_groups_without_forks_unchanged():
    group = make_group(trajectories=[rollout("t/0", "Utp"), rollout("t/1", "Utp")])
    one = make_rated(group=group)
    assert mask_shared_prefix()([one])[0] is one


@pytest.mark.parametrize("split", [False, True])
def test_shared_prefix_of_a_fork_has_the_loss_and_gradient_of_tokens_without_a_mask(split):
    """Also with KL, entropy and likelihood terms: the gradient there is exactly 0, and loss and gradient elsewhere
    equal
    those of a batch in which these tokens are masked.
    """
    group = forked()
    if split:
        group = replace(group, trajectories=group.trajectories[1:])
    scores = make_scores([1.0, 0.0, 0.5, 2.0][-len(group) :])
    terms = [kl(coefficient=0.1), entropy(coefficient=0.1), keep_likelihood()]
    loss = policy(ratio=token(), surrogate=reinforce(), reduction=token_mean(), terms=terms)
    one = make_rated(group=group, scores=scores, trained=[True] * len(group))
    suffix = replace(one, advantages=transformed(group_norm(), mask_shared_prefix())(group, scores))
    batch, whole = (make_batch([x], pad_id=0, dtype=torch.float64) for x in (suffix, one))
    out = random_policy(batch, 0)
    assert batch.denominators.tokens < whole.denominators.tokens
    found = differentiate(loss, out, batch)
    assert all(not gradient[~batch.mask_BT].any() for gradient in found.gradients.values())
    unmasked = [
        replace(s, author=np.where(own_T | ~s.mask, s.author, 0))
        for t, own in zip(group, suffix.advantages.trains, strict=True)
        for s, own_T in zip(t.sequences, own, strict=True)
    ]
    rows = iter(unmasked)
    cut = [replace(t, sequences=tuple(next(rows) for _ in t.sequences), branch_of=None) for t in group]
    bare = suffix.with_group(replace(group, trajectories=tuple(cut)))
    bare = replace(bare, advantages=replace(suffix.advantages, trains=None))
    again = differentiate(loss, out, make_batch([bare], pad_id=0, dtype=torch.float64))
    assert again.value == found.value
    for name, gradient in found.gradients.items():
        assert torch.equal(again.gradients[name], gradient)
