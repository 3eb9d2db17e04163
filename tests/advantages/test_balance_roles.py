from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.advantages.balance_roles import balance_roles
from handaxe.core.errors import InputError
from handaxe.credit.return_to_go import return_to_go
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.testing.batches import random_policy
from handaxe.testing.losses import differentiate
from handaxe.testing.make_records import make_group, make_rated
from handaxe.training.loop.batch import make_batch


def by_turn(trajectory):
    """Solver in even turns, verifier in odd ones."""
    return [("solver", "verifier")[k % 2] for k in range(len(trajectory.turns))]


CONTRACT = [{"roles": by_turn}]
BIAS = [BiasCase("balance_roles(roles=BY_TURN) of return_to_go()", return_to_go, lambda: balance_roles(roles=by_turn))]


def test_balance_roles_matches_the_docstring_example():
    (one,) = balance_roles(roles=by_turn)(
        [make_rated(group=make_group(layouts=["Utppp t pp", "Utppp"]), advantage=[1, 1])]
    )
    first, second = (arrays[0] for arrays in one.advantages.tokens)
    np.testing.assert_allclose(first[first != 0], [2 / 3] * 3 + [2] * 2, atol=1e-12)
    np.testing.assert_allclose(second[second != 0], [2 / 3] * 3, atol=1e-12)


def test_balance_roles_equals_a_slow_loop():
    """Rollouts with rows of their own for a turn, and a rollout that is not trained."""
    groups = [
        make_group(layouts=[["Utppp", "Utp", "Utpp"], "Utp tT tppp"]),
        make_group(layouts=["Utpppp", "Utp tTt pp"]),
    ]
    rated = [
        make_rated(group=groups[0], advantage=[1.5, -0.5]),
        make_rated(group=groups[1], advantage=[2, 1], trained=[True, False]),
    ]
    counts = Counter()
    for one in rated:
        for i, trajectory in enumerate(one.group):
            if one.trained[i]:
                for k, turn in enumerate(trajectory.turns):
                    counts[by_turn(trajectory)[k]] += turn.stop - turn.start
    assert len(set(counts.values())) == 2
    total = sum(counts.values())
    for one, shaped in zip(rated, balance_roles(roles=by_turn)(rated), strict=True):
        for i, trajectory in enumerate(one.group):
            for k, turn in enumerate(trajectory.turns):
                factor = total / (2 * counts[by_turn(trajectory)[k]]) if one.trained[i] else 1.0
                for t in range(turn.start, turn.stop):
                    before = one.advantages.tokens[i][turn.sequence][t]
                    assert shaped.advantages.tokens[i][turn.sequence][t] == pytest.approx(before * factor, abs=1e-12)


def gradient(layouts, transform):
    """Gradient of the clipped token mean by token log-probs of the solver's first turns: [N]."""
    rated = [make_rated(group=make_group(layouts=layouts), advantage=[1.0, -0.7])]
    batch = make_batch(transform(rated), pad_id=0, dtype=torch.float64)
    out = random_policy(batch, 0)
    known = replace(batch, old_logp_BT=out.logp_BT.detach() - 0.1 * batch.mask_BT)
    loss = policy(ratio=token(), surrogate=clip(), reduction=token_mean())
    found = differentiate(loss, out, known).gradients["logp"]
    return found[batch.mask_BT & (batch.turn_BT == 0)].numpy()


def test_twice_the_tokens_of_a_role_leave_the_gradient_of_the_other_role_unchanged():
    short, long = ["Utpp t pp", "Utpp t pp"], ["Utpp t pppp", "Utpp t pppp"]
    balanced = balance_roles(roles=by_turn)
    np.testing.assert_allclose(gradient(short, balanced), gradient(long, balanced), atol=1e-12)
    assert np.abs(gradient(short, balanced)).min() > 0.05
    ratio = gradient(short, list) / gradient(long, list)
    np.testing.assert_allclose(ratio, 12 / 8, atol=1e-12)


def test_a_batch_of_one_role_and_a_batch_without_tokens_stay_unchanged():
    rated = [make_rated(group=make_group(layouts=["Utppp", "Utp"]), advantage=[1, -1])]
    (one,) = balance_roles(roles=by_turn)(rated)
    for own, other in zip(one.advantages.tokens, rated[0].advantages.tokens, strict=True):
        np.testing.assert_array_equal(own[0], other[0])
    assert balance_roles(roles=by_turn)([]) == []


def test_roles_without_a_name_for_each_turn_are_an_error():
    with pytest.raises(InputError, match="each of the 2 turns"):
        balance_roles(roles=lambda one: ["solver"])([make_rated()])
