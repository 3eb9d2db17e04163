import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.papers.search_gen_v.nugget_share import nugget_share, support_share
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory


def stated(question, answer, nuggets):
    return [float(one in answer) for one in nuggets]


CONTRACT = [{"rubric": lambda task: [(1.0, str(task.answer))], "verify": stated}]
LAB = "the verifier is an argument"


def test_the_nugget_reward_accepts_a_paraphrase_that_exact_match_rejects():
    def verify(question, answer, nuggets):
        assert question == "When did the war end?"
        return [float(one.lower() in answer.lower()) for one in nuggets]

    reward = nugget_share(rubric=lambda task: [(1.0, task.answer)], verify=verify)
    task = make_task(question="When did the war end?", answer="1945")
    texts = ["It ended in 1945, in May.", "1944", "1945"]
    group = make_group(trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    assert exact_match()(group).outcome.tolist() == [0, 0, 1]
    assert reward(Group(task, group.trajectories)).outcome.tolist() == [1, 0, 1]


def test_the_share_is_a_weighted_mean():
    assert support_share([2, 1, 1], [1, 0.5, 0]) == pytest.approx(0.625)
    rng = np.random.default_rng(0)
    weights, support = rng.uniform(0.1, 2, 7), rng.choice([0, 0.5, 1], 7)
    slow = sum(w * v for w, v in zip(weights, support)) / sum(weights)
    assert support_share(weights, support) == pytest.approx(slow, abs=1e-12)
    assert support_share(3 * weights, support) == pytest.approx(slow, abs=1e-12)
    for wrong in (([], []), ([1], [1, 0]), ([0, 1], [1, 1])):
        with pytest.raises(InputError, match="weight above 0"):
            support_share(*wrong)
