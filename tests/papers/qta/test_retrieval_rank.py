from dataclasses import replace

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.papers.qta.retrieval_rank import retrieval_rank
from handaxe.papers.qta.tool_index import tool_index
from handaxe.papers.qta.tool_queries import tool_queries
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = []  # reads requests of tool_queries alone
LAB = "reads the retriever's ranking for a request of tool_queries; see the methods"


def scores(task, *texts):
    return retrieval_rank()(
        make_group(trajectories=[replace(make_trajectory(texts=[text]), task=task) for text in texts], task=task)
    ).outcome


def test_retrieval_rank_prefers_a_helpful_rewrite():
    task = next(one for one in tool_queries().tasks("train", 200, 0) if not one.metadata["raw"])
    known = tool_index()
    helpful = " ".join(known.numbers[name] for name in task.answer)
    useful, raw = scores(task, helpful, "-")
    assert useful > -6 and raw < -5 and useful > raw


def test_a_reply_that_names_no_tool_has_the_last_place():
    task = next(one for one in tool_queries().tasks("train", 200, 0) if one.metadata["raw"])
    last = len(tool_index().groups)
    raw, *others = scores(task, "-", "", "tool", "999")
    assert raw > -6 and all(one == pytest.approx(-(last + last / (last + 1))) for one in others)
