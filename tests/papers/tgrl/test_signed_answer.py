import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.tgrl.signed_answer import signed_answer
from handaxe.papers.tgrl.unseen_gym import unseen_gym
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.extract import answer_line
from handaxe.rewards.per_turn import per_turn
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.parts.answering import stated_answer

CONTRACT = [{"correct": exact_match()}, {"correct": exact_match(), "answer": answer_line, "correct_above": 0.0}]
LAB = [
    LabCase("signed_answer(...)", unseen_gym, lambda world: signed_answer(correct=world.correct, answer=stated_answer)),
]
TASK = make_task(answer="4")


def scored(reward, *texts):
    return reward(make_group(task=TASK, trajectories=[make_trajectory(texts=[text], task=TASK) for text in texts]))


def test_signed_answer_equals_the_worked_example():
    scores = scored(signed_answer(correct=exact_match()), "4", "5", "")
    assert scores.outcome.tolist() == [1, -1, 0]
    assert scores.channels["answered"].tolist() == [1, 1, 0] and scores.channels["correct"].tolist() == [1, 0, 0]


def test_signed_answer_equals_a_slow_loop():
    texts = ["4", "5", "", " ", "4 ", "Answer: 4", "no"]
    correct = exact_match(extract=answer_line)
    found = scored(signed_answer(correct=correct, answer=answer_line), *texts).outcome
    slow = [{"Answer: 4": 1}.get(text, -1 if "Answer:" in text else 0) for text in texts]
    assert found.tolist() == slow and np.sum(found) == 1


def test_signed_answer_scores_empty_trajectories_zero_and_refuses_turn_rewards():
    group = make_group(task=TASK, trajectories=[make_trajectory(layouts=["UUt"], task=TASK)])
    assert signed_answer(correct=exact_match())(group).outcome.tolist() == [0]
    with pytest.raises(InputError, match="per-turn"):
        scored(signed_answer(correct=per_turn(lambda one: [1.0] * len(one.turns))), "4")
