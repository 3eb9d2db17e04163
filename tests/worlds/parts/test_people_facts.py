import pytest

from handaxe.core.errors import Retry
from handaxe.testing.tools import check_tool
from handaxe.worlds.parts.people_facts import (
    FIELDS,
    PersonQuestion,
    build_people,
    fact_cards,
    lookup_tool,
    people_tasks,
    people_world,
    search_call,
)


def test_people_have_every_field_and_halves_are_disjoint():
    people = build_people(seed=0, size=40)
    train, test = people.halves
    assert len(test) == 10 and len(train) == 30 and not set(train) & set(test)
    assert set(people.facts) == {(name, field) for name in (*train, *test) for field in FIELDS}
    assert all(FIELDS[field][0] <= value <= FIELDS[field][1] for (_, field), value in people.facts.items())
    assert build_people(seed=1, size=40) != people == build_people(seed=0, size=40)


def test_fact_cards_are_one_document_per_fact():
    people = build_people(seed=0, size=8)
    made = fact_cards(people)
    assert len(made) == 24 and made == sorted(made, key=lambda one: one["id"])
    assert all(people.facts[tuple(one["id"].split())] == int(one["text"]) for one in made)
    assert search_call("417", "desk") == {"name": "search", "arguments": {"query": "417 desk"}}


def ask(name, rng):
    return PersonQuestion(name, str(rng.random()), {"gold_calls": [search_call(name, "age")]})


def test_first_tasks_are_independent_of_count():
    people = build_people(seed=0, size=8)

    def made(count, split="train"):
        return people_tasks(people, key=("x",), count=count, seed=3, split=split, ask=ask)

    assert made(3) == made(9)[:3] and made(1)[0].id == "x-3-train-0"
    assert {one.messages[0].content for one in made(30, "test")} <= set(people.halves[1])


def test_people_world_searches_its_cards(tmp_path, monkeypatch):
    pytest.importorskip("bm25s")
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    people = build_people(seed=0, size=8)
    world = people_world("x", size=8, world_seed=0, ask=ask, cards=fact_cards(people))
    (search,), (task,) = world.tools, world.tasks("train", 1, 0)
    name = task.messages[0].content
    assert search(f"{name} age") == f"[{name} age] {people.facts[name, 'age']}"
    assert task.id == "x-0-8-0-train-0" and world.expert is None


def test_lookup_reads_a_fact_and_refuses_another_key():
    people = build_people(seed=0, size=8)
    (name, field), value = next(iter(people.facts.items()))
    found = check_tool(lookup_tool(people), arguments={"fact": f" {name} {field} "})
    assert found.content == str(value)
    with pytest.raises(Retry, match="give a person and age, desk, rank"):
        lookup_tool(people).function(f"{name} height")
