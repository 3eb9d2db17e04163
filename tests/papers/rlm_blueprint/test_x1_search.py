import numpy as np
import pytest
from helpers.written_pad import Pad

from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.rlm_blueprint.x1_search import x1_search
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.value_search import ROOT
from handaxe.testing.scripted_engine import ScriptedEngine

VALUES = {"a": 0.5, "b": -1.0, "c": 0.2, "yes": 0.9, "no": -1.0}


class Values:
    def score_steps(self, group):
        def of(turn):
            return VALUES[turn.parsed.calls[0].arguments["text"] if turn.parsed.calls else turn.parsed.text]

        return tuple(np.array([of(turn) for turn in one.turns]) for one in group)


def play(words, **knobs):
    said = iter(words)

    def script(text, turn):
        word = next(said)
        return word if len(word) > 1 else ToolCall("write", {"text": word})

    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])
    task, sampling = Task("t", (Message("user", "go"),)), Sampling(max_tokens=40)
    attempt = Attempt(task, tool_chat([Pad]), Compact(), sampling, "t/0", 0, 3, 1000, aux_policies={})
    plan = x1_search(judge=Values(), max_turns=6, **knobs)(attempt)
    return run_plan(plan, sample=lambda name, request: engine.sample([request])[0])


def test_x1_search_matches_a_tree_by_hand():
    """
    1  a .5, b -1: question .96 (.5 - 1) / 2 = -.24
    2  a: c .2, yes .9: a .96 (.2 + .9) / 2 = .528 with 2 visits; question .96 (2 * .528 - 1) / 3 = .01792
    3  a .764 + 1.25 / 3 > b 0 + 1.25 / 2; yes .95 + .625 > c .6 + .625: yes is finished and answers
    """
    found = play(["a", "b", "c", "yes"])
    assert found[0].final_text == "yes"
    assert found[0].notes[ROOT] == {"visits": 2, "value": pytest.approx(0.01792, abs=1e-9)}
    assert found[0].notes[SEARCH] == [
        {"visits": 2, "value": pytest.approx(0.528, abs=1e-9)},
        {"visits": 1, "value": pytest.approx(0.9)},
    ]


def test_simulations_are_mixed_with_the_value_model():
    """a: (.5 + .9) / 2 = .7 through "yes", b: (-1 - 1) / 2 through "no"; the greedy path answers."""
    found = play(["a", "b", "yes", "no"], alpha=0.5, iterations=1)
    assert found[0].final_text == "yes" and found[0].notes[SEARCH][0]["value"] == pytest.approx(0.7)
    assert found[0].notes[ROOT]["value"] == pytest.approx(0.96 * (0.7 - 1.0) / 2)
