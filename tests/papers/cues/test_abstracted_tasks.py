"""Windows, confidence and hints."""

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Task, ToolCall
from handaxe.papers.cues.abstracted_tasks import abstracted_tasks, with_hint
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.hops.knowledge_base import chain_task

CHAIN = chain_task("t", ["4071", "5526", "1390"], ["boss", "ally"], brief=True)


def explored(*queries):
    calls = [[ToolCall("search", {"query": query}, f"{k}")] for k, query in enumerate(queries)]
    return make_trajectory(texts=[""] * len(queries), calls=calls, replies=[["x"]] * len(queries))


def propose(part):
    return [Task(f"{len(part.turns)}", CHAIN.messages, CHAIN.answer, None, CHAIN.metadata)]


def test_confidence_is_the_share_of_calls_that_were_made_in_the_window():
    both = explored("4071 boss", "5526 ally")
    assert [one.confidence for one in abstracted_tasks(both, propose)] == [1.0]
    assert [one.confidence for one in abstracted_tasks(both, propose, window=1)] == [0.5, 0.5]
    found = abstracted_tasks(explored("4071 boss", "5526 idol", "5526 ally"), propose, window=2)
    assert [(one.task.id, one.confidence) for one in found] == [("2", 0.5), ("1", 0.5)]


def test_hints_reveal_steps_and_keep_the_answer():
    hinted = with_hint(CHAIN, 1)
    assert hinted.messages[0].content == "4071 boss ally? 4071 boss 5526" and hinted.answer == CHAIN.answer == "1390"
    assert hinted.metadata["gold_calls"] == CHAIN.metadata["gold_calls"][1:]
    assert (hinted.metadata["hops"], hinted.metadata["revealed"], hinted.metadata["path"]) == (1, 1, ["ally"])
    assert with_hint(CHAIN, 0) is CHAIN and hinted.id != CHAIN.id


def test_wrong_input():
    for reveal in (-1, 2):
        with pytest.raises(InputError, match="0 to 1 to reveal"):
            with_hint(CHAIN, reveal)
    with pytest.raises(InputError, match="window is 0"):
        abstracted_tasks(explored("a b"), propose, window=0)
