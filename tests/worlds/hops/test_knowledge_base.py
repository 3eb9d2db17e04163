import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.worlds.hops.knowledge_base import RELATIONS, build_facts, fact_documents, tasks

KNOWN = build_facts(seed=0, size=100, distractors=2)


def test_no_fact_connects_the_halves():
    train, test = map(set, KNOWN.halves)
    assert not train & test and (len(train), len(test)) == (75, 25)
    for half in (train, test):
        assert all(KNOWN.facts[name, relation] in half - {name} for name in half for relation in RELATIONS)


def test_namesakes_differ_in_the_last_letter_and_occur_in_no_question():
    people = {name for half in KNOWN.halves for name in half}
    stems = {name[:-1]: name for name in people}
    assert len(stems) == len(people) and len(set(KNOWN.namesakes)) == 200 and not people & set(KNOWN.namesakes)
    assert all(one[:-1] in stems for one in KNOWN.namesakes)
    differ = [KNOWN.facts[one, "boss"] != KNOWN.facts[stems[one[:-1]], "boss"] for one in KNOWN.namesakes]
    assert sum(differ) / len(differ) > 0.9


def test_names_can_be_numbers():
    known = build_facts(seed=0, size=100, distractors=4, digits=True)
    names = [*known.halves[0], *known.halves[1], *known.namesakes]
    assert len(set(names)) == 500 and all(len(name) == 4 and name.isdigit() for name in names)


def test_documents_are_one_per_fact():
    made = fact_documents(KNOWN, brief=True)
    assert len(made) == len(KNOWN.facts) == 300 * 4
    assert [one["id"] for one in made] == sorted(one["id"] for one in made)
    name = KNOWN.halves[0][0]
    said = next(one for one in fact_documents(KNOWN, brief=False) if one["id"] == f"{name} boss")
    assert said["text"] == f"The boss of {name} is {KNOWN.facts[name, 'boss']}."


def ask(**changes):
    plain = {"key": (0,), "count": 200, "seed": 0, "split": "train", "hops": (1, 2, 3, 4), "brief": True}
    return tasks(KNOWN, **plain | changes)


def test_chains_follow_facts_without_cycles():
    for task in ask():
        names = [task.messages[0].content.split()[0], *task.metadata["gold_answers"]]
        assert len(set(names)) == task.metadata["hops"] + 1
        for a, relation, b in zip(names, task.metadata["path"], names[1:]):
            assert KNOWN.facts[a, relation] == b
    assert {one.metadata["hops"] for one in ask()} == {1, 2, 3, 4}
    assert ask(count=1, hops=(2,), brief=False)[0].messages[0].content.startswith("Who is the ")


def test_the_seed_determines_facts_and_tasks():
    assert ask() == ask(count=400)[:200] and ask() != ask(seed=1)
    assert build_facts(seed=0, size=100, distractors=2) == KNOWN != build_facts(seed=1, size=100, distractors=2)


def test_invalid_arguments_raise():
    with pytest.raises(TaskError, match="empty"):
        ask(count=0)
    for changes in ({"split": "dev"}, {"hops": ()}, {"hops": (5,)}):
        with pytest.raises(InputError):
            ask(**changes)
    for size, distractors in ((10, 1), (1000, 1), (100, 5)):
        with pytest.raises(InputError, match="16 to 900"):
            build_facts(seed=0, size=size, distractors=distractors)
