import pytest

from handaxe.core.records import Message, Sampling, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.linear import linear
from handaxe.rollouts.search.best_of import best_of
from handaxe.rollouts.search.play_search import SearchPlayer
from handaxe.testing.scripted_engine import ScriptedEngine

TASKS = [(seed, Task(f"t{seed}", (Message("user", "go"),))) for seed in (1, 2)]


@pytest.fixture
def play():
    engine = ScriptedEngine(Compact(), lambda text, turn: "yes")
    return SearchPlayer(tool_chat([]), engine, Compact(), Sampling(max_tokens=8))


def test_a_lone_trajectory_is_the_answer(play):
    found = play(linear(max_turns=2), TASKS)
    assert [(one.answer, len(one.group), one.group.task.id) for one in found] == [(0, 1, "t1"), (0, 1, "t2")]
    assert found[0].tokens == found[0].group[0].num_tokens > 0


def test_several_samples_are_one_group_without_an_answer(play):
    first, second = play(linear(max_turns=2), TASKS, samples=3)
    assert first.answer is None and len(first.group) == 3 and second.group.task.id == "t2"
    assert first.tokens == sum(one.num_tokens for one in first.group)
    assert len({one.seed for one in first.group}) == 3


def test_a_search_answers_by_its_note(play):
    (one, _) = play(best_of(tokens=7), TASKS)
    assert one.answer == 0 and len(one.group) >= 2 and one.tokens >= 7


def test_a_temperature_replaces_that_of_the_sampling(play):
    (one, _) = play(linear(max_turns=2), TASKS, temperature=0.0)
    assert {turn.sampling.temperature for turn in one.group[0].turns} == {0.0}
