from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.tau2.world import tau2

LAB = [
    LabCase(
        "state_and_outputs()",
        partial(tau2, domain="telecom", mode="user"),
        lambda world: state_and_outputs(),
        why=(
            "If the correct solution is to change nothing and to transfer the user, the databases are "
            "correct from the start, and the paper's reward compares only databases: an empty rollout "
            "gets full reward. tau2's judgement (`solved`) also requires the actions, and holds."
        ),
    ),
]


TASK = make_task()


def attempt(*texts, calls=None, digest="a", outputs=("1234",)):
    env = {"digest": digest, "gold_digest": "a", "outputs": list(outputs)}
    return make_trajectory(texts=list(texts), calls=calls, task=TASK, env=env)


SIBLINGS = make_group(task=TASK, trajectories=[attempt("Total is $1,234."), attempt("no"), attempt("1234", digest="b")])


def score(*attempts):
    return state_and_outputs()(make_group(task=TASK, trajectories=list(attempts))).outcome.tolist()


def test_state_and_outputs_equals_the_worked_examples():
    assert score(attempt("Total is $1,234."), attempt("Total is $1,234.", digest="b")) == [1, 0]


def test_every_required_output_must_be_in_a_message():
    texts = ("It is 1,234 for Ann", "and BOB too", "12 34", "")
    for outputs in ([], ["1234"], ["ann", "Bob"], ["ann", "carl"], ["1,234"]):
        expected = 1.0
        for wanted in outputs:
            found = False
            for text in texts:
                found = found or wanted.lower() in text.lower().replace(",", "")
            expected *= found
        assert score(attempt(*texts, outputs=outputs)) == [expected]
    assert score(attempt(*texts, outputs=["1,234"])) == [0]


def test_text_in_a_turn_with_a_call_is_no_output():
    assert score(attempt("1234", "done", calls=[["f"], []])) == [0]
    garbled = make_trajectory(texts=["1234", "done"], errors=[["not JSON"], []], task=TASK, env=attempt("").env)
    assert score(garbled) == [0]
    assert score(attempt("", outputs=())) == [1]


def test_outcomes_give_the_advantages_of_the_worked_example():
    """Rewards [1, 0, 0, 1]: mean 0.5, sample standard deviation 0.5774."""
    rewards = np.array(score(attempt("1234"), attempt(""), attempt("1234", digest="b"), attempt("a 1,234")))
    np.testing.assert_allclose((rewards - 0.5) / rewards.std(ddof=1), [0.866, -0.866, -0.866, 0.866], atol=1e-3)


def test_an_environment_without_a_digest_raises_task_error():
    with pytest.raises(TaskError, match="no digest"):
        state_and_outputs()(make_group(trajectories=[make_trajectory()]))
