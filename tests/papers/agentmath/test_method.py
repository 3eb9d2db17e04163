import pytest
from helpers.methods import made

from handaxe.testing.make_records import make_group, make_trajectory

REMEMBERS = "grown limits"
RESUMED = [
    "--segment-tokens",
    "None",
    "--segment-calls",
    "None",
    "--groups",
    "16",
    "--token-limits",
    "4",
    "8",
    "12",
    "--max-truncation",
    "0",
]


def test_only_correct_answers_are_rewarded_for_few_calls():
    """call_bonus / (calls + 1) for a correct answer: 1 + 0.1, 1 + 0.1 / 2, 1 + 0.1 / 3; 0 for a wrong one."""
    method = made("agentmath")
    (task,) = method.world.tasks("train", 1, 0)

    def rollout(calls, answer):
        return make_trajectory(texts=[""] * calls + [answer], calls=[*[["step"]] * calls, []], task=task)

    group = make_group(task=task, trajectories=[rollout(n, text) for text in (task.answer, "no") for n in range(3)])
    assert method.reward(group).outcome == pytest.approx([1.1, 1.05, 1 + 0.1 / 3, 0, 0, 0])
