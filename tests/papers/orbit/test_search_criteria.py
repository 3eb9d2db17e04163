import pytest

from handaxe.core.records import Message, Task, ToolCall, ToolReply
from handaxe.papers.orbit.search_criteria import GENERAL_ITEMS, check_searches, question_words, search_item
from handaxe.testing.make_records import make_trajectory

TASK = Task("t", (Message("user", "4071 boss ally?"),), "1390")
ITEMS = [search_item("boss"), search_item("ally"), *GENERAL_ITEMS]


def rollout(queries, replies, answer, statuses=None):
    statuses = statuses or ["ok"] * len(queries)
    said = [[ToolReply(f"{k}-0", "search", text, status)] for k, (text, status) in enumerate(zip(replies, statuses))]
    one = make_trajectory(
        texts=[*[""] * len(queries), answer],
        calls=[*[[ToolCall("search", {"query": query})] for query in queries], []],
        replies=[*said, []],
    )
    return one.__class__(**{**one.__dict__, "task": TASK})


def met(one):
    found = check_searches(one, ITEMS)
    return {item.name: own.tolist() for item, own in zip(ITEMS, found, strict=True) if own.any()}


def test_the_whole_chain_by_hand():
    one = rollout(["4071 boss", "5526 ally"], ["[4071 boss] 4071 boss 5526", "[5526 ally] 5526 ally 1390"], "1390")
    assert met(one) == {
        "search boss": [True, True, True],
        "search ally": [False, True, True],
        "grounded": [False, False, True],
        "one word": [False, False, True],
    }


@pytest.mark.parametrize(
    "queries, answer, wanted",
    [
        (["9999 boss"], "x y", {"off topic"}),
        (["4071 heir"], "x y", {"off topic"}),
        (["4071 boss", "4071 boss"], "x y", {"search boss", "repeated"}),
        (["4071 boss"], "7777", {"search boss", "one word"}),
    ],
)
def test_faults_by_hand(queries, answer, wanted):
    assert set(met(rollout(queries, ["r"] * len(queries), answer))) == wanted


def test_a_failed_search_meets_nothing_but_failed():
    assert set(met(rollout(["4071 boss"], ["error"], "x y", ["failed"]))) == {"failed"}


def test_the_reference_answer_is_not_read():
    one = rollout(["4071 boss"], ["4071 boss 5526"], "5526")
    other = one.__class__(**{**one.__dict__, "task": Task("t", TASK.messages, "0")})
    assert met(one) == met(other)
    assert question_words(TASK) == ["4071", "boss", "ally"]
