from dataclasses import replace

import pytest

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.agent_evolver.explored_tasks import explored_tasks
from handaxe.testing.make_records import make_trajectory
from handaxe.tools.decorator import tool

SAID = {"4071 boss": "4071 boss 5526", "5526 ally": "5526 ally 1390", "4071 idol": "4071 idol 55261"}


class Desk:
    """Finds facts; `news` says something else each time that it is asked, whoever asks."""

    asked = 0
    closed = 0

    @tool
    def search(self, query: str) -> str:
        """Find it."""
        if query not in SAID:
            raise Retry("nothing found")
        return SAID[query]

    @tool
    def news(self) -> str:
        """Say the news."""
        Desk.asked += 1
        return f"today {Desk.asked} 5526"

    def close(self):
        Desk.closed += 1


ENV = tool_chat([Desk])


def task(words, answer, *queries, name="search"):
    calls = [{"name": name, "arguments": {"query": one} if name == "search" else {}} for one in queries]
    return Task(f"explored {words}", (Message("user", words),), answer, metadata={"gold_calls": calls})


def explored(*tasks, **options):
    attempts = [replace(make_trajectory(texts=["x"]), id=str(k)) for k in range(len(tasks))]
    by_id = {str(k): [one] for k, one in enumerate(tasks)}
    return explored_tasks(attempts, propose=lambda attempt: by_id[attempt.id], env=ENV, **options)


def test_explored_tasks_matches_its_example():
    one = task("4071 boss?", "5526", "4071 boss")
    found = explored(one, one)
    assert found == ([one], 2, 1, 0)
    both = task("4071 boss ally?", "1390", "4071 boss", "5526 ally")
    assert explored(both, one).tasks == [both, one]


def test_repeated_failing_and_unstable_tasks_are_dropped():
    for bad in (
        task("4071 boss?", "1390", "4071 boss"),  # the reply says something else
        task("4071 idol?", "5526", "4071 idol"),  # a part of a word is no answer
        task("4071 heir?", "5526", "4071 heir"),  # the call fails
        task("who?", "5526"),  # there is no call
        task("news?", "5526", "", name="news"),  # the second time it says something else
        task("news?", "5526", "", name="no such tool"),
    ):
        assert explored(bad) == ([], 1, 0, 1)
    assert explored(task("news?", "5526", "", name="news"), tries=1).tasks


def test_every_environment_is_closed():
    Desk.closed = 0
    explored(task("4071 boss?", "5526", "4071 boss"), task("4071 heir?", "5526", "4071 heir"))
    before = Desk.closed
    explored(task("4071 boss?", "5526", "4071 boss"), tries=3)
    assert before >= 3 and Desk.closed == before + 3


def test_explored_tasks_rejects_invalid_arguments():
    with pytest.raises(InputError, match="tries is 0"):
        explored(tries=0)
