import random

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.marag.document_sets import document_sets

EXAMPLE = {"104": {"by": "41", "pages": 387}, "217": {"by": "41", "pages": 90}, "388": {"by": "7", "pages": 500}}


def ask(made, name, **arguments):
    reply = getattr(made, name).run(ToolCall(name, arguments))
    return reply.content if reply.status == "ok" else f"{reply.status}: {reply.content}"


def test_document_sets_matches_its_example():
    made = document_sets(EXAMPLE)()
    assert ask(made, "filter_by", field="by", value="41") == "s1: 104 217"
    assert ask(made, "count", among="s1") == "2" and ask(made, "count", among="all") == "3"
    assert ask(made, "largest", field="pages", among="s1") == "104 with 387"
    assert ask(made, "sort_by", field="pages", among="all") == "388 104 217"
    assert made.report() == {"found": ["104", "217"], "asked": ["104", "217", "388"], "sets": 1}
    before = made.snapshot()
    ask(made, "largest", field="pages", among="s1")
    assert made.report()["asked"] == ["104", "217"]
    ask(made, "count", among="s7")
    assert made.report()["asked"] == ["104", "217"]
    made.restore(before)
    assert made.report()["asked"] == ["104", "217", "388"]


def test_without_queries_the_last_set_is_reported():
    made = document_sets(EXAMPLE)()
    assert made.report()["asked"] == []
    ask(made, "filter_by", field="by", value="41")
    ask(made, "filter_by", field="by", value="7")
    assert made.report()["asked"] == ["388"]


def test_operations_equal_plain_sets():
    rng = random.Random(0)
    documents = {str(100 + k): {"by": rng.choice("bc"), "room": rng.choice("de"), "pages": k % 5} for k in range(30)}
    made = document_sets(documents, shown=30)()
    one = {k for k, v in documents.items() if v["by"] == "b"}
    two = {k for k, v in documents.items() if v["room"] == "d"}
    assert set(ask(made, "filter_by", field="by", value="b").split()[1:]) == one
    assert set(ask(made, "filter_by", field="room", value="d").split()[1:]) == two
    assert set(ask(made, "intersect", first="s1", second="s2").split()[1:]) == one & two
    assert set(ask(made, "filter_by", field="room", value="d", among="s1").split()[1:]) == one & two
    assert ask(made, "count", among="s3") == ask(made, "count", among="s4") == str(len(one & two))
    order = ask(made, "sort_by", field="pages", among="s2").split()
    assert order == sorted(two, key=lambda k: (-documents[k]["pages"], k))
    assert ask(made, "largest", field="pages", among="s2").split()[0] == order[0]
    assert set(made.report()["found"]) == one | two


def test_shown_limits_the_ids_in_replies():
    made = document_sets(EXAMPLE, shown=1)()
    assert ask(made, "filter_by", field="by", value="41") == "s1: 104 ..."
    assert ask(made, "filter_by", field="by", value="9") == "s2: nothing" and ask(made, "count", among="s2") == "0"


def test_missing_sets_and_fields_are_reported():
    made = document_sets(EXAMPLE)()
    assert ask(made, "count", among="s7") == "retry: there is no set 's7'; there are all"
    assert ask(made, "filter_by", field="age", value="1").startswith(
        "retry: there is no field 'age'; there are by, pages"
    )
    assert "has a number" in ask(made, "largest", field="by", among="all")
    ask(made, "filter_by", field="by", value="9")
    assert "has a number" in ask(made, "sort_by", field="pages", among="s1")
    for wrong in ({}, {"a b": {}}, {"": {}}):
        with pytest.raises(InputError, match="single words"):
            document_sets(wrong)
    with pytest.raises(InputError, match="0 or more"):
        document_sets(EXAMPLE, shown=-1)


def test_rollouts_have_separate_sets_and_snapshots():
    env = tool_chat([document_sets(EXAMPLE)])
    task = Task("t", (Message("user", "?"),))
    turn = ParsedTurn("", (ToolCall("filter_by", {"field": "by", "value": "41"}, "c0"),))
    one, other = env(task), env(task)
    one.step(turn, seed=0)
    assert other.report()["state"]["DocumentSets"]["sets"] == 0
    other.restore(one.snapshot())
    one.step(turn, seed=0)
    assert other.report()["state"]["DocumentSets"]["found"] == ["104", "217"]
    assert one.report()["state"]["DocumentSets"]["sets"] == 2
