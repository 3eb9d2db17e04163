"""Constants of the method mle_dojo, read by the tests of every method (tests/papers), and its parts together."""

import pytest
from helpers.methods import made

from handaxe.core.records import ToolCall, ToolReply
from handaxe.testing.make_records import make_group, make_trajectory

FITTED = True
FALLS = "See `world competitions`."


def rollout(scores):
    log = [
        {"call": f"c{n}", "action": "execute", "position": score, "raw": 1 - score} for n, score in enumerate(scores)
    ]
    return make_trajectory(
        texts=[""] * len(scores),
        calls=[[ToolCall("execute_code", {}, f"c{n}")] for n in range(len(scores))],
        replies=[[ToolReply(f"c{n}", "execute_code", "")] for n in range(len(scores))],
        env={"state": {"Dojo": {"log": log}}},
    )


@pytest.mark.parametrize(("words", "better"), [((), 0), (("--mode", "raw"), 1)])
def test_the_raw_metric_prefers_the_larger_error(words, better):
    method = made("mle_dojo", *words)
    group = make_group(trajectories=[rollout([0.9]), rollout([0.2])])
    advantages = method.credit(group, method.reward(group))
    levels = [float(one[0].sum()) for one in advantages.tokens]
    assert levels[better] > 0 > levels[1 - better]
