from functools import partial

import pytest
from helpers.count_words import count_words

from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.plan_queries import plan_queries
from handaxe.worlds.toolbox.tool_documents import ToolDocument

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.papers.toolshed.compare_steps import ARMS, compare_steps  # noqa: E402
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest  # noqa: E402


def test_arms_are_measured_on_each_request():
    documents = [
        ToolDocument("area", "area", "Area of a circle.", "radius", ("How large is a disc?",)),
        ToolDocument("sum", "sum", "Sum of numbers.", "numbers"),
    ]
    vectors = TextVectors(count_words)
    plain, enhanced = LiveIndex(vectors, fields=("name", "description")), LiveIndex(vectors)
    for index in (plain, enhanced):
        index.put(documents)
    plan = partial(plan_queries, verbs={"sum"})
    plans = {"all": plan, "no_rewrite": plan, "no_decompose": plan}
    requests = [
        LabelledRequest("1", "How large is a disc?", ({"name": "area"},)),
        LabelledRequest("2", "sum of numbers", ({"name": "sum"},)),
    ]
    found = compare_steps(requests, plain=plain, enhanced=enhanced, plans=plans)
    assert set(found) == set(ARMS) and all(own.shape == (2,) for own in found.values())
    assert found["bm25"].tolist() == [0.0, 1.0] and found["raw"].tolist() == found["fusion"].tolist() == [1.0, 1.0]
