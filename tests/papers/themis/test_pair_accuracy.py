import numpy as np
import pytest

from handaxe.core.records import Message, ToolCall
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.scenes import FORMAT, script
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.themis.pair_accuracy import JudgedPairs, call_figures, fit_on_pairs, judge_pairs, pair_rows
from handaxe.papers.themis.tool_judge import trace
from handaxe.papers.themis.tool_pairs import PAIR_TOOLS
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

ROWS = pair_rows("test", 8, 0)


def test_the_right_answer_is_first():
    for row in ROWS:
        assert [one.final_text for one in row.group] == [row.pair.chosen, row.pair.rejected]
        assert row.domain == row.pair.task.metadata["domain"]


class Fixed:
    """A judge with given conversations and scores."""

    def __init__(self, conversations, scores):
        self._found, self._scores = conversations, np.array(scores)

    def conversations(self, group, *, env=None):
        return self._found

    def score_conversations(self, found):
        return self._scores


def test_an_unended_conversation_counts_as_wrong():
    row = ROWS[0]
    call = Message("assistant", "", (ToolCall("calculator", {"expression": "1+1"}),))
    whole = demonstrate(tool_chat(PAIR_TOOLS), row.pair.task, script(call, "2 2"), format=FORMAT)
    cut = demonstrate(tool_chat(PAIR_TOOLS), row.pair.task, script(call), format=FORMAT, max_turns=2)
    assert judge_pairs(Fixed([whole, whole], [2.0, 1.0]), [row]).right.tolist() == [True]
    assert judge_pairs(Fixed([whole, whole], [1.0, 1.0]), [row]).right.tolist() == [False]
    assert judge_pairs(Fixed([whole, cut], [2.0, 1.0]), [row]).right.tolist() == [False]


def test_call_figures_by_hand():
    row = ROWS[0]
    gold = demonstrate(tool_chat(PAIR_TOOLS), row.pair.task, trace(reference_calls(row.pair.task), "x"), format=FORMAT)
    none = demonstrate(tool_chat(PAIR_TOOLS), row.pair.task, script("x"), format=FORMAT)
    found = call_figures(JudgedPairs(np.array([True]), [gold, none]), [row])
    assert found == {"calls": 0.5, "reference": 0.5}


@pytest.mark.parametrize("options", [{}, {"reads": "mean"}])
def test_a_fit_orders_its_pairs(options):
    engine = LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=256), seed=0))
    judge = fit_on_pairs(engine, FORMAT, ROWS[:2], tools=(), epochs=120, **options)
    assert judge_pairs(judge, ROWS[:2]).right.tolist() == [True, True]
