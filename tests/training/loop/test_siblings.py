import numpy as np
import pytest

from handaxe import credit as credits
from handaxe.advantages.batch_norm import batch_norm
from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.core.errors import InputError
from handaxe.core.import_string import exports
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.group_norm import group_norm
from handaxe.credit.kl_return import kl_return
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.optimal_baseline import optimal_baseline
from handaxe.credit.transformed import transformed
from handaxe.papers.dgrpo.difficulty_weight import difficulty_weight
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.training.loop.siblings import check_siblings, needs_siblings
from handaxe.training.loop.train import train

COMPARES = {"checklist", "fork_norm", "group_norm", "leave_one_out", "min_form", "optimal_baseline"}
COMPARES |= {"shared_prefix_mean", "step_leave_one_out", "turn_norm"}
OTHERS = {"among", "apart", "hint_room", "token_subset", "score_scaled", "transformed", "total"}
"""Made of another credit."""
OTHERS |= {"batch_norm", "batch_whiten", "entropy_scaled", "task_weight", "turn_bonus"}
OTHERS |= {"difficulty_weight", "duration_weight", "rank_bonus", "useful_share"}


def test_every_credit_says_by_what_it_does_whether_it_compares():
    for name in set(exports("handaxe.credit")) - OTHERS:
        assert needs_siblings(getattr(credits, name)()) == (name in COMPARES), name


@pytest.mark.parametrize(
    ("credit", "compares"),
    [
        (group_norm(channel="anything"), True),
        (group_norm(lone="reward"), False),
        (leave_one_out(lone="reward"), False),
        (optimal_baseline(lone="reward"), False),
        (kl_return(baseline="group"), True),
        (kl_return(baseline="none"), False),
        (constant_baseline(baseline=1.0), False),
        (constant_baseline(baseline=-1.0), False),
        (transformed(group_norm()), True),
        (transformed(constant_baseline()), False),
    ],
)
def test_the_options_of_a_credit_decide(credit, compares):
    assert needs_siblings(credit) == compares


def test_needs_siblings_leaves_the_state_of_a_transform_as_it_was():
    transform = difficulty_weight()
    assert not needs_siblings(constant_baseline(), transform) and transform.means == {}


def test_transform_may_compare_with_the_batch_instead():
    assert not needs_siblings(group_norm(), batch_norm(mean="batch"))
    assert needs_siblings(group_norm(), batch_norm(mean="group"))
    assert needs_siblings(group_norm(), batch_whiten())
    assert not needs_siblings(constant_baseline(), batch_whiten())


def test_a_credit_that_needs_more_than_is_made_up_is_let_through():
    def mine(group, scores):
        return group.task.metadata["level"] * np.ones(3)

    assert not needs_siblings(mine)


def test_a_credit_with_state_is_as_it_was(world):
    credit = world.Baseline()
    assert not needs_siblings(credit) and credit.mean == np.zeros(1)


def test_a_rollout_that_branches_has_siblings_of_its_own():
    check_siblings(1, credit=group_norm(), transform=None, rollout=forking(at=turn_starts()))
    check_siblings(2, credit=group_norm(), transform=None, rollout=linear())
    with pytest.raises(InputError, match="a group size of 1 .* credit compares siblings: every advantage would be 0"):
        check_siblings(1, credit=group_norm(), transform=None, rollout=linear())


def test_train_refuses_attempts_that_are_alone_before_it_plays_any(world, tmp_path):
    with pytest.raises(InputError, match="a group size of 1"):
        train(**world.arguments(credit=world.centred, group_size=1, out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    result = train(**world.arguments(credit=world.centred, group_size=1, epochs=0, steps=1))
    assert len(result.metrics) == 1, "a run that trains nothing compares nothing"
