import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.smartsnap.submission import chosen_observations, holds_documents, read_submission
from handaxe.testing.make_records import make_task, make_trajectory

SEARCH = ToolCall("search", {"query": "4071 boss"})


def submitted(*evidences, message="5526"):
    return ToolCall("submit", {"message": message, "evidences": list(evidences)})


def rollout(*turns):
    """One turn for each list of calls; every call has a result."""
    replies = [
        [ToolReply(f"{n}-{k}", call.name, f"{call.name} {n}") for k, call in enumerate(calls)]
        for n, calls in enumerate(turns)
    ]
    return make_trajectory(texts=[""] * len(turns), calls=[list(calls) for calls in turns], replies=replies)


def test_a_submission_has_message_and_chosen_results():
    found = read_submission(rollout([SEARCH], [SEARCH], [submitted(1, 0, 1)]))
    assert found.message == "5526" and found.observations == 2
    assert [one.content for one in found.chosen] == ["search 1", "search 0", "search 1"]
    assert read_submission(rollout([SEARCH, submitted(0)])) is not None


def test_chosen_observations_are_none_without_a_submission():
    assert [one.content for one in chosen_observations(rollout([SEARCH], [SEARCH], [submitted(1, 1)]))] == [
        "search 1"
    ] * 2
    assert chosen_observations(rollout([SEARCH])) == ()


@pytest.mark.parametrize(
    "texts, holds", [(["[a]", "x [b]"], True), (["[a]"], False), (["a b", "[ab]"], False), ([], False)]
)
def test_documents_are_sources_of_results(texts, holds):
    task = make_task(metadata={"gold_documents": ["a", "b"]})
    assert holds_documents([ToolReply("0", "search", text) for text in texts], task) == holds


@pytest.mark.parametrize(
    "turns",
    [
        [[SEARCH], [SEARCH]],
        [[SEARCH], [submitted(0)], [submitted(0)]],
        [[SEARCH], [submitted(0), submitted(0)]],
        [[SEARCH], [submitted(0)], [SEARCH]],
        [[SEARCH], [submitted()]],
        [[SEARCH], [submitted(1)]],
        [[SEARCH], [submitted(2)]],
        [[SEARCH], [submitted(-1)]],
        [[SEARCH], [submitted(True)]],
        [[SEARCH], [submitted("0")]],
        [[SEARCH], [submitted(0, message=7)]],
        [[SEARCH], [ToolCall("submit", {"message": "x", "evidences": "0"})]],
        [[submitted(0)]],
        [[]],
    ],
    ids=[
        "none",
        "two",
        "two in a turn",
        "not last",
        "empty",
        "of submit",
        "beyond",
        "negative",
        "bool",
        "text",
        "no message",
        "no list",
        "nothing observed",
        "no call",
    ],
)
def test_the_gate_refuses(turns):
    assert read_submission(rollout(*turns)) is None
