import numpy as np
import pytest

from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.scenes import FORMAT
from handaxe.papers.themis.pair_accuracy import pair_rows
from handaxe.papers.themis.themis_tools import _figures, _random_tools, themis_tools
from handaxe.papers.themis.tool_judge import trace
from handaxe.papers.themis.tool_pairs import DOMAINS, PAIR_TOOLS
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

ROWS = pair_rows("test", 8, 0)


def test_figures_by_hand():
    """Eight pairs, two a domain: tools right on six, plain on three, random on two."""
    right = {
        "tools": np.array([1, 1, 1, 1, 1, 0, 1, 0], bool),
        "plain": np.array([1, 0, 1, 0, 1, 0, 0, 0], bool),
        "random": np.array([0, 0, 0, 0, 1, 0, 1, 0], bool),
    }
    found = _figures(right, ROWS)
    assert found["accuracy/tools"] == 0.75 and found["accuracy/plain/calculator"] == 1.0
    assert found["gain/plain"] == pytest.approx(0.375) and found["gain/random"] == pytest.approx(0.5)
    assert found["random/plain"] == pytest.approx(-0.125)
    assert found["gain/plain/calculator"] == 0.0 and found["gain/plain/both"] == 0.5
    assert sum(found[f"gain/plain/{one}"] for one in DOMAINS) == pytest.approx(4 * found["gain/plain"])


def test_random_tools_answer_another_call():
    train = pair_rows("train", 64, 0)
    for row in ROWS:
        call = reference_calls(row.pair.task)[0]
        one = demonstrate(_random_tools(train), row.pair.task, trace([call], "x"), format=FORMAT)
        replies = {
            demonstrate(_tool_env(), row.pair.task, trace([other], "x"), format=FORMAT).replies[0].content
            for own in train
            for other in reference_calls(own.pair.task)
            if other.name == call.name and other.arguments != call.arguments
        }
        assert one.replies[0].status == "ok" and one.replies[0].content in replies


def _tool_env():
    return tool_chat(PAIR_TOOLS)


@pytest.mark.slow
def test_the_study_gives_figures_of_all_arms():
    found = themis_tools(pairs=16, held_out=8, epochs=1)(900)
    for arm in ("tools", "plain", "random"):
        own = [found[f"accuracy/{arm}/{one}"] for one in DOMAINS]
        assert found[f"accuracy/{arm}"] == pytest.approx(np.mean(own))
    gain = found["accuracy/tools"] - found["accuracy/plain"]
    assert found["gain/plain"] == pytest.approx(gain, abs=1e-9)
