from types import SimpleNamespace

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.papers.latm.answer_figures import _costs, _routing, _score_alone, answer_figures
from handaxe.papers.latm.route_stream import FAMILIES, RoutedStream, family_tasks


def test_routes_are_correct_after_the_first_question_of_a_family():
    assert _routing([None, None, "a"], ["a", "b", "a"]) == 1
    assert _routing([None, "a", "b"], ["a", "b", "a"]) == pytest.approx(1 / 3)


def test_costs_by_hand():
    """Tools of 100 and 300 programs, no third one; four questions of a family."""
    tools = {"a": SimpleNamespace(name="a"), "b": SimpleNamespace(name="b"), "c": None}
    found = _costs(RoutedStream([], [], tools, {"a": 100, "b": 300, "c": 900}, None), 4)
    assert found["maker/programs"] == 200 and found["each/programs"] == 201
    assert found["amortised/programs"] == pytest.approx(200 / 4 + 1)
    assert _costs(RoutedStream([], [], {"c": None}, {"c": 900}, None), 4)["maker/programs"] == 0


def test_the_best_candidate_of_a_sentence_counts():
    (task,) = family_tasks("gcd", 1, 0, "test")
    assert _score_alone(task, f"The answer is {task.answer}.") == 1 and _score_alone(task, "none") == 0


class Knowing:
    """User that knows all answers."""

    def __init__(self, tasks):
        self.tasks = {task.messages[-1].content.strip(): task.answer for task in tasks}

    def answer(self, asks):
        texts = [self.tasks[ask.fields["question"].strip()] for ask in asks]
        return [SimpleNamespace(text=text, spent=SimpleNamespace(read=10, written=2)) for text in texts]


def test_a_stream_without_tools_is_answered_alone():
    tasks = [task for name in FAMILIES for task in family_tasks(name, 1, 0, "test")]
    stream = RoutedStream(tasks, [None] * len(tasks), {}, {}, None)
    found = answer_figures(stream, dict.fromkeys(FAMILIES, ()), Knowing(tasks), 1)
    assert found["made"] == found["calls/accuracy"] == found["gain/alone"] == 0
    assert found["latm/accuracy"] == found["alone/accuracy"] == 1 and found["dispatch/accuracy"] == 1
