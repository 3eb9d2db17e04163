import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.total import total
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather, token_turn_indices
from handaxe.papers.istar.step_leave_one_out import step_leave_one_out
from handaxe.testing.credit import check_credit
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"released": True}, {"stats_over": "eligible"}]
BIAS = [
    BiasCase("step_leave_one_out()", step_leave_one_out, by_turn=True),
    BiasCase("step_leave_one_out(released=True)", lambda: step_leave_one_out(released=True), by_turn=True),
    BiasCase(
        'total({"attempt": (1, leave_one_out()), "step": (1, step_leave_one_out())})',
        lambda: total({"attempt": (1.0, leave_one_out()), "step": (1.0, step_leave_one_out())}),
    ),
]


def group(*turns):
    return make_group(
        trajectories=[make_trajectory(texts=["x"] * n) if n else make_trajectory(layouts=["Ut"]) for n in turns]
    )


def values(credit, members, scores):
    """The advantage of each turn, which all of its tokens have."""
    out = []
    for one, own in zip(members, credit(members, scores).tokens, strict=True):
        flat, turn = gather(one, own), token_turn_indices(one)
        each = [set(flat[turn == k].tolist()) for k in range(len(one.turns))]
        assert all(len(found) == 1 for found in each)
        out.append([found.pop() for found in each])
    return out


@pytest.mark.parametrize(
    ("released", "wanted"), [(False, [[0.2, 0.2 / 3], [-0.2, -0.2 / 3]]), (True, [[0.3, 0.1], [-0.3, -0.1]])]
)
def test_step_leave_one_out_equals_the_worked_example(released, wanted):
    found = values(
        step_leave_one_out(released=released), group(2, 2), make_scores([0, 0], turns=[[0.2, 0.1], [-0.1, 0.0]])
    )
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_step_leave_one_out_equals_a_slow_loop(seed):
    members = random_group(seed, size=4)
    scores = random_scores(members, seed)
    every = [(i, k, r) for i, own in enumerate(scores.turns) for k, r in enumerate(own)]
    firsts = [own[0] for own in scores.turns]
    plain = values(step_leave_one_out(), members, scores)
    quirk = values(step_leave_one_out(released=True), members, scores)
    for i, k, r in every:
        others = [x for j, m, x in every if (j, m) != (i, k)]
        assert plain[i][k] == pytest.approx(r - sum(others) / len(others))
        assert quirk[i][k] == pytest.approx(4 / 3 * (r - sum(firsts) / 4))


def test_the_outcome_does_not_enter_and_a_channel_replaces_turns():
    turns = tuple(np.array(own) for own in ([0.2, 0.1], [-0.1, 0.0]))
    scores = Scores(np.array([5.0, -7.0]), (np.ones(2), np.zeros(2)), turn_channels={"steps": turns})
    np.testing.assert_allclose(values(step_leave_one_out(channel="steps"), group(2, 2), scores)[0], [0.2, 0.2 / 3])
    with pytest.raises(InputError, match="no per-turn channel 'other'; there are steps"):
        step_leave_one_out(channel="other")(group(2, 2), scores)
    wrong = Scores(np.zeros(2), turn_channels={"steps": (np.array([0.0, np.nan]), np.zeros(2))})
    with pytest.raises(InputError, match="not finite"):
        step_leave_one_out(channel="steps")(group(2, 2), wrong)


@pytest.mark.parametrize("released", [False, True])
def test_lone_turns_equal_rewards_and_unscored_siblings_get_zero(released):
    credit = step_leave_one_out(released=released)
    assert values(credit, group(1), make_scores([0], turns=[[0.7]])) == [[0]]
    equal = make_scores([0, 0], turns=[[0.1 + 0.2], [0.3, 0.3]])
    assert values(credit, group(1, 2), equal) == [[0], [0, 0]]
    lost = make_scores([np.nan, 0, 0], turns=[[9.0], [1.0], [0.0]])
    assert values(credit, group(1, 1, 1), lost) == [[0], [1], [-1]]
    assert values(credit, group(0, 1, 1), make_scores([0, 0, 0], turns=[[], [1.0], [0.0]])) == [[], [1], [-1]]
    check_credit(credit, turns=False, seeds=2)
