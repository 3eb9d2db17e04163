"""Constants of the method ipa, read by the tests of every method (tests/papers), and its parts together."""

from dataclasses import replace
from math import log

import pytest
from helpers.methods import made

from handaxe.core.records import Branch
from handaxe.testing.batches import small_batch
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory

pytest.importorskip("bm25s")

REMEMBERS = "restarts inside earlier rollouts"


def test_ipa_imitates_a_success_up_to_the_restart_if_all_restarts_fail():
    method, task = made("ipa"), make_task(id="a")
    (store,) = method.learners
    group = make_group(layouts=["UUt pp tTt ppp"] * 2, task=task)
    store.learn([make_rated(group=group, scores=make_scores([0, 1]))], step=0)
    restarted = [replace(one, id=f"b/{i}", branch_of=Branch(group[1].id, 0, 8)) for i, one in enumerate(group)]
    failed = make_rated(group=make_group(trajectories=restarted, task=task), scores=make_scores([0, 0]))
    (one,) = method.select([failed])
    assert "/replay/" in one.group[0].id
    assert one.advantages.tokens[0][0].tolist() == pytest.approx([0.0] * 3 + [0.9] * 2 + [0.0] * 3 + [1.0] * 3)


def test_masks_per_turn_and_per_token_keep_different_tokens_of_the_sampler():
    """With top-p 0.7 a token keeps 0.7 to 1 of the probability. A turn with 0.75 and 0.95 has a mean of 0.844."""
    methods = {unit: made("ipa", "--unit", unit) for unit in ("turn", "token")}
    assert methods["turn"].sampling.top_p == 0.7
    sampled = [-1.0 - log(0.75), -1.0 - log(0.95)]
    batch = small_batch([[1.0, 1.0]], old=[[-1.0, -1.0]], behaviour=[sampled], turn=[[0, 0]])
    weights = {unit: one.correction(batch).weight_BT[batch.mask_BT].tolist() for unit, one in methods.items()}
    assert weights == {"turn": [1.0, 1.0], "token": [0.0, 1.0]}


def test_the_discounted_outcome_is_the_advantage_of_each_turn():
    method, group = made("ipa"), make_group(layouts=["Up tp tp tp tp tp"] * 2, task=make_task(id="a"))
    adv = method.credit(group, make_scores([1, -1])).tokens
    expected = [0.9**5, 0.9**4, 0.9**3, 0.9**2, 0.9, 1.0]
    for sign, (adv_T,), one in zip((1, -1), adv, group, strict=True):
        assert adv_T[one.sequences[0].mask].tolist() == pytest.approx([sign * value for value in expected])


def test_a_failure_has_the_reward_minus_one():
    method = made("ipa")
    answer = make_task(answer="5")
    right, wrong = (make_trajectory(texts=[text], task=answer) for text in ("5", "6"))
    scores = method.reward(make_group(trajectories=[right, wrong], task=answer))
    assert scores.outcome.tolist() == [1.0, -1.0]


def test_parallel_restarts_leave_the_start_at_the_last_turn():
    for words, turn in (([], 1), (["--parallel"], 2)):
        (store,) = made("ipa", *words).learners
        task = make_task(id="a")
        group = make_group(layouts=["UUt pp tTt ppp tTt p"] * 2, task=task)
        store.learn([make_rated(group=group, scores=make_scores([0, 1]))], step=0)
        begun = [replace(one, branch_of=Branch(group[1].id, 0, 14)) for one in group]
        store.learn([make_rated(group=make_group(trajectories=begun, task=task), scores=make_scores([1, 1]))], step=1)
        assert len(store.stored["a"].group[0].turns) - store.depth["a"] == turn
