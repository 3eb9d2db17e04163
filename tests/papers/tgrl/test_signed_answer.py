import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tgrl.signed_answer import signed_answer
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.extract import answer_line
from handaxe.rewards.per_turn import per_turn
from handaxe.testing.records import make_group, make_task, make_trajectory

CONTRACT = [{"correct": exact_match()}, {"correct": exact_match(), "answer": answer_line, "correct_above": 0.0}]
TASK = make_task(answer="4")


def scored(reward, *texts):
    return reward(make_group(task=TASK, trajectories=[make_trajectory(texts=[text], task=TASK) for text in texts]))


def test_example():
    scores = scored(signed_answer(correct=exact_match()), "4", "5", "")
    assert scores.outcome.tolist() == [1, -1, 0]
    assert scores.channels["answered"].tolist() == [1, 1, 0] and scores.channels["correct"].tolist() == [1, 0, 0]


def test_a_slow_loop_says_the_same():
    texts = ["4", "5", "", " ", "4 ", "Answer: 4", "no"]
    correct = exact_match(extract=answer_line)
    found = scored(signed_answer(correct=correct, answer=answer_line), *texts).outcome
    slow = [{"Answer: 4": 1}.get(text, -1 if "Answer:" in text else 0) for text in texts]
    assert found.tolist() == slow and np.sum(found) == 1


def test_without_a_turn_and_what_is_refused():
    group = make_group(task=TASK, trajectories=[make_trajectory(layouts=["UUt"], task=TASK)])
    assert signed_answer(correct=exact_match())(group).outcome.tolist() == [0]
    with pytest.raises(InputError, match="per-turn"):
        scored(signed_answer(correct=per_turn(lambda one: [1.0] * len(one.turns))), "4")
