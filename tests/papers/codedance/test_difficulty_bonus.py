from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.codedance.difficulty_bonus import difficulty_bonus
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.product import product
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

TASK = make_task(answer="4")
WORTH = gate(on=exact_match(), then=outcome(lambda one: 1.5), otherwise=outcome(lambda one: 0.5))
CALLED = product({"worth": WORTH, "ran": tool_success()})
CONTRACT = [
    {"base": exact_match(), "bonus": CALLED},
    {"base": weighted({"answer": (1.2, exact_match())}), "bonus": CALLED, "correct": exact_match(), "beta": 0.1},
]
LAB = [
    LabCase(
        "difficulty_bonus(bonus=tool_success())",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: difficulty_bonus(base=world.correct, bonus=tool_success()),
    ),
]


def attempt(answer, calls=1):
    texts, replies = [""] * calls + [answer], [["1"]] * calls + [[]]
    return make_trajectory(texts=texts, calls=[["f"]] * calls + [[]], replies=replies, task=TASK)


def group(*attempts):
    return make_group(task=TASK, trajectories=attempts)


def test_the_sign_of_d_changes_at_the_documented_accuracy():
    turn = 0.5 + np.arctanh(1 - 2 * 0.2) / 4
    assert turn == pytest.approx(0.673, abs=5e-4)
    assert (1 + np.tanh(4 * (0.5 - turn))) / 2 - 0.2 == pytest.approx(0)


@pytest.mark.parametrize(("right", "of", "d"), [(0, 4, 0.782), (2, 4, 0.3), (3, 4, -0.081), (4, 4, -0.182)])
def test_difficulty_matches_its_example(right, of, d):
    members = [attempt("4")] * right + [attempt("5")] * (of - right)
    scores = difficulty_bonus(base=exact_match(), bonus=outcome(lambda one: 1.0))(group(*members))
    np.testing.assert_allclose(scores.outcome - scores.channels["base"], d, atol=5e-4)


def test_rewards_match_their_example():
    reward = difficulty_bonus(base=exact_match(), bonus=CALLED)
    half = reward(group(attempt("4"), attempt("5"), attempt("4", calls=0), attempt("5", calls=0)))
    np.testing.assert_allclose(half.outcome, [1.45, 0.15, 1.0, 0.0], atol=1e-12)
    all_right = reward(group(attempt("4"), attempt("4", calls=0)))
    np.testing.assert_allclose(all_right.outcome, [0.727, 1.0], atol=5e-4)


def test_accuracy_may_differ_from_the_base_reward():
    base = weighted({"answer": (1.2, exact_match()), "more": (1.0, outcome(lambda one: -0.4))})
    reward = difficulty_bonus(base=base, bonus=CALLED, correct=exact_match())
    scores = reward(group(attempt("4"), attempt("5")))
    np.testing.assert_allclose(scores.outcome, [0.8 + 0.3 * 1.5, -0.4 + 0.3 * 0.5], atol=1e-12)
    assert set(scores.channels) >= {"base", "bonus", "correct"}


def test_a_sibling_with_an_infra_error_changes_nothing():
    members = [attempt("4"), attempt("5"), attempt("4")]
    broken = replace(attempt("5"), ending=Ending("infra_error", "gone"))
    reward = difficulty_bonus(base=exact_match(), bonus=CALLED)
    _, alone = score_group(reward, group(*members))
    _, beside = score_group(reward, group(*members, broken))
    assert alone.outcome.tolist() == beside.outcome[:3].tolist() and np.isnan(beside.outcome[3])


@pytest.mark.parametrize("seed", range(20))
def test_every_correct_rollout_earns_more_than_every_incorrect_one(seed):
    """With the constants of the paper, whatever came of the calls."""
    rng = np.random.default_rng(seed)
    members = []
    for _ in range(8):
        statuses = rng.choice(["ok", "failed"], rng.integers(0, 4)).tolist()
        replies = [[ToolReply(f"{k}-0", "f", "1", status)] for k, status in enumerate(statuses)]
        errors = [[] for _ in statuses] + [["not JSON"] if rng.random() < 0.3 else []]
        texts = [""] * len(statuses) + [str(rng.choice(["4", "5"]))]
        calls = [["f"]] * len(statuses) + [[]]
        members.append(make_trajectory(texts=texts, calls=calls, replies=[*replies, []], errors=errors, task=TASK))
    answer = weighted({"right": (1.0, exact_match()), "format": (0.2, well_formed())})
    scores = difficulty_bonus(base=answer, bonus=CALLED, correct=exact_match())(group(*members))
    right = scores.channels["correct"] > 0
    assert right.all() or not right.any() or scores.outcome[right].min() > scores.outcome[~right].max()


def test_difficulty_bonus_rejects_invalid_arguments():
    with pytest.raises(InputError, match="gamma=0"):
        difficulty_bonus(base=exact_match(), bonus=CALLED, gamma=0)
    with pytest.raises(InputError, match="per-turn"):
        difficulty_bonus(base=exact_match(), bonus=per_turn(lambda one: [1.0] * len(one.turns)))(group(attempt("4")))
