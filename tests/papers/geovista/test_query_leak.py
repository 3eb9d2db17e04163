import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.papers.geovista.query_leak import query_leak
from handaxe.rewards.weighted import weighted
from handaxe.testing.records import make_group, make_task, make_trajectory


def attempt(*queries, task, tool="search", text="Vienne"):
    calls = [[ToolCall(tool, {"query": query})] for query in queries]
    return make_trajectory(texts=[""] * len(calls) + [text], calls=[*calls, []], task=task)


TASK = make_task(answer="Lyon")
REFERENCE = "Lyon"
SIBLINGS = make_group(
    task=TASK, trajectories=[attempt("Lyon?", task=TASK), attempt("Paris?", task=TASK), attempt(task=TASK)]
)


def scored(*queries, answer="Lyon", tool="search", **knobs):
    task = make_task(answer=answer)
    group = make_group(task=task, trajectories=[attempt(*queries, task=task, tool=tool)])
    return query_leak(**knobs)(group).outcome.tolist()[0]


def test_example():
    said = ("522228 people", "is it Lyon?", "is it Lyon?", "the eiffel tower")
    assert scored(*said, templates=("Eiffel Tower",)) == -1 and scored(*said) == -0.5


def test_worked_example_of_the_paper():
    """The right state and the wrong city, 2, with two queries that leak: 1."""
    task = make_task(answer="Lyon")
    group = make_group(task=task, trajectories=[attempt("lyon", "Lyon, France", "people", task=task)])
    levels = label_depth(
        found=lambda one: ("france", "rhone", one.final_text), gold=lambda task: ("france", "rhone", "lyon")
    )
    assert weighted({"levels": (1.0, levels), "leaks": (1.0, query_leak())})(group).outcome.tolist() == [1]


@pytest.mark.parametrize(
    ("queries", "worth"),
    [
        ((), 0),
        (("a", ""), 0),
        (("LYON!",), -0.5),
        (("lyonnaise",), 0),
        (("lyon lyon",), -0.5),
        (("lyon", "Lyon.", " the lyon"), -0.5),
        (("lyon 1", "lyon 2", "lyon 3"), -1.5),
        (tuple(f"lyon {n}" for n in range(5)), -2),
        (("x" * 10**6 + " lyon",), -0.5),
    ],
)
def test_slow_count(queries, worth):
    assert scored(*queries) == worth


def test_articles_and_several_answers():
    assert scored("hague", "den haag", "leiden", answer=["The Hague", "Den Haag"]) == -1


def test_only_the_queries_of_named_tools_count():
    assert scored("lyon", tool="zoom") == 0 and scored("lyon", tool="zoom", tools=("zoom", "search")) == -0.5
    task = make_task(answer="Lyon")
    odd = make_trajectory(texts=[""], calls=[[ToolCall("search", {"k": 3, "at": ["lyon"]})]], task=task)
    assert query_leak()(make_group(task=task, trajectories=[odd])).outcome.tolist() == [-0.5]
    assert query_leak(tools=("zoom",))(make_group(task=task, trajectories=[odd])).outcome.tolist() == [0]


@pytest.mark.parametrize(
    "query",
    [
        "Lyon's population",
        "Lyon-Paris",
        "Lyon/Paris",
        "Lyon\u2014Paris",
        "\u201cLyon\u201d",
        "Lyon\u2019s",
        "lyon_size",
    ],
)
def test_whatever_stands_beside_an_answer_does_not_hide_it(query):
    assert scored(query) == -0.5 and scored(query, answer="Lyon.") == -0.5 and scored(query, answer="yon") == 0


def test_texts_within_lists_and_objects_are_looked_at_and_names_are_not():
    task = make_task(answer="Lyon")

    def one(**arguments):
        made = make_trajectory(texts=[""], calls=[[ToolCall("search", arguments)]], task=task)
        return query_leak()(make_group(task=task, trajectories=[made])).outcome.tolist()[0]

    assert one(queries=["people", "is it Lyon?"]) == one(query={"all": [["lyon"], 3, None]}) == -0.5
    assert one(queries=["people"]) == one(query={"lyon": 1}) == 0


def test_what_cannot_be():
    for knobs in ({"penalty": -1}, {"floor": 1}, {"tools": "search"}):
        with pytest.raises(InputError, match="penalty is 0 or more"):
            query_leak(**knobs)
    with pytest.raises(TaskError, match="has the answer None"):
        scored("lyon", answer=None)
