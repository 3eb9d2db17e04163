import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers import tool_gen as folder
from handaxe.papers.tool_gen import tool_gen

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("tokenizers")

from handaxe.papers.tool_gen.tool_questions import join_requests, split_questions_of_tools  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return split_questions_of_tools(6, 900)


def test_every_fourth_question_is_held_out(data):
    assert len(data.tools) == 6 and len(data.train) == 108 and len(data.test) == 36
    assert not {one.text for one in data.train} & {one.text for one in data.test}
    names = {entry.name for entry in data.tools}
    assert {one.needed[0] for one in data.train} == {one.needed[0] for one in data.test} == names
    with pytest.raises(InputError, match="1 tool"):
        split_questions_of_tools(0, 0)


def test_joined_requests_have_the_steps_of_both(data):
    joined = join_requests(data.test, 20, 900)
    assert {len(one.steps) for one in joined} == {1, 2}
    for one in joined:
        assert len(one.text.split("\n")) >= len(one.steps) == len(set(one.needed))
    assert joined == join_requests(data.test, 20, 900)


@pytest.mark.slow
def test_untrained_models_name_tools_with_constraints_alone(data, monkeypatch):
    monkeypatch.setattr(folder, "split_questions_of_tools", lambda tools, seed: data)
    monkeypatch.setattr(folder, "embed", lambda texts: np.eye(len(texts), 512, dtype=np.float32))
    found = tool_gen(tools=6, joined=4, language=1, memory=1, retrieval=1, agent=1)(900)
    assert found["trie/name"] == found["trie/generator"] == 0.0
    for side in ("no_memory", "bm25", "dense", "questions"):
        gain = found["generator/recall"] - found[f"{side}/recall"]
        assert found[f"gain/{side}"] == pytest.approx(gain, abs=1e-9)
    made = found["agent/generator/made"] - found["agent/bm25/made"]
    assert found["gain/agent"] == pytest.approx(made, abs=1e-9)
    assert found["questions/recall"] > 0.5 and 0 <= found["agent/untuned/ended"] <= 1
