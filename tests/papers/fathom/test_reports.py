import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.fathom.reports import CitedFact, planned_sources, report_text, reports, statements
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

SOURCES = {"417 rank": ["7", 1], "233 age": ["40", 2], "417 desk": ["52", 3]}
PLANNED = "417 desk [3];233 age [2]|417 desk 52 [3]. 233 age 40 [2]."


@pytest.mark.parametrize("form", ["plan", "cite", "bare"])
def test_reports_keeps_the_world_contract(form):
    check_world(reports(form=form, size=16), count=12)


def test_texts_by_hand():
    asked = ["417 desk", "233 age"]
    assert report_text(asked, SOURCES, "plan") == PLANNED
    assert report_text(asked, SOURCES, "cite") == "417 desk 52 [3]. 233 age 40 [2]."
    assert report_text(asked, SOURCES, "bare") == "417 desk 52. 233 age 40."
    assert statements(PLANNED) == [CitedFact("417 desk", "52", 3), CitedFact("233 age", "40", 2)]
    assert statements("417 desk 52. nothing") == [CitedFact("417 desk", "52", 0)]
    assert planned_sources(PLANNED) == {"417 desk": 3, "233 age": 2} and planned_sources("417 desk 52.") == {}


def score(form, text, world=None):
    world = reports(form=form, size=16, asked=2, others=1)
    (task,) = world.tasks("train", 1, 0)
    asked, sources = task.metadata["asked"], task.metadata["sources"]
    said = text(asked, sources)
    one = demonstrate(world.env(()), task, lambda task, facts: Message("assistant", said), format=Compact())
    gauges = {name: gauge.top(one, 1.0) for name, gauge in world.gauges.items()}
    return world.correct(Group(task, (one,))).outcome[0], gauges


def test_a_report_needs_every_fact_its_value_and_its_source():
    right = score("plan", lambda asked, sources: report_text(asked, sources, "plan"))
    assert right == (1.0, {"stated": 2.0, "cited": 2.0, "planned": 2.0})
    wrong_source = {"stated": 2.0, "cited": 0.0, "planned": 0.0}
    swapped = lambda asked, s: report_text(asked, {k: [v, n % 3 + 1] for k, (v, n) in s.items()}, "plan")  # noqa: E731
    assert score("plan", swapped) == (0.0, wrong_source)
    bare = lambda asked, sources: report_text(asked, sources, "bare")  # noqa: E731
    assert score("cite", bare) == (0.0, wrong_source) and score("bare", bare)[0] == 1.0
    half = lambda asked, sources: report_text(asked[:1], sources, "cite")  # noqa: E731
    assert score("cite", half) == (0.0, {"stated": 1.0, "cited": 1.0, "planned": 0.0})
    assert score("cite", lambda asked, sources: "") == (0.0, {"stated": 0.0, "cited": 0.0, "planned": 0.0})


def test_every_asked_fact_is_among_the_results_and_splits_share_no_person():
    world = reports(size=40)
    people = {}
    for split in ("train", "test"):
        tasks = world.tasks(split, 20, 0)
        for task in tasks:
            lines = task.messages[0].content.split("\n")
            assert len(lines) == 5 and lines[-1] == f"report {', '.join(task.metadata['asked'])}"
            for fact in task.metadata["asked"]:
                value, number = task.metadata["sources"][fact]
                assert lines[number - 1] == f"{fact} {value} [{number}]"
        people[split] = {fact.split()[0] for task in tasks for fact in task.metadata["sources"]}
    assert people["train"].isdisjoint(people["test"])


@pytest.mark.parametrize("wrong", [{"form": "long"}, {"asked": 5}, {"others": 6}])
def test_wrong_input(wrong):
    with pytest.raises(InputError, match="reports takes the form plan, cite, bare"):
        reports(**wrong)
