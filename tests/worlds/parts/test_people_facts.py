from handaxe.worlds.parts.people_facts import FIELDS, build_people, fact_cards, search_call, tasks


def test_people_are_told_apart_and_split():
    people = build_people(seed=0, size=40)
    train, test = people.halves
    assert len(test) == 10 and len(train) == 30 and not set(train) & set(test)
    assert set(people.facts) == {(name, field) for name in (*train, *test) for field in FIELDS}
    assert all(FIELDS[field][0] <= value <= FIELDS[field][1] for (_, field), value in people.facts.items())
    assert build_people(seed=1, size=40) != people == build_people(seed=0, size=40)


def test_a_document_a_fact():
    people = build_people(seed=0, size=8)
    made = fact_cards(people)
    assert len(made) == 24 and made == sorted(made, key=lambda one: one["id"])
    assert all(people.facts[tuple(one["id"].split())] == int(one["text"]) for one in made)
    assert search_call("417", "desk") == {"name": "search", "arguments": {"query": "417 desk"}}


def test_the_first_tasks_do_not_depend_on_how_many_there_are():
    people = build_people(seed=0, size=8)

    def made(count, split="train"):
        return tasks(
            people, key=("x",), count=count, seed=3, split=split, ask=lambda name, rng: (name, str(rng.random()), {})
        )

    assert made(3) == made(9)[:3] and made(1)[0].id == "x-3-train-0"
    assert {one.messages[0].content for one in made(30, "test")} <= set(people.halves[1])
