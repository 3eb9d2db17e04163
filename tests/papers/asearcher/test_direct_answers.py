import pytest

from handaxe.core.errors import InputError
from handaxe.papers.asearcher.direct_answers import answers_in_documents, question_shares
from handaxe.worlds.library.entities import build_world

pytest.importorskip("bm25s")


def test_answers_in_documents_finds_the_answer_of_generated_questions():
    entities = build_world(seed=0, size=400).entities
    town = next(one for one in entities.values() if one.kind == "town")
    mayor = entities[town.facts["mayor"]]
    assert answers_in_documents(f"the river of {town.name}") == {town.facts["river"]}
    twice = f"the birth year of the mayor of the town whose founding year is {town.facts['founding year']} "
    assert answers_in_documents(f"{twice}and whose mayor is {mayor.name}") == {mayor.facts["birth year"]}
    bakers = [one.facts["birth year"] for one in entities.values() if one.facts.get("job") == "baker"]
    assert (
        answers_in_documents("the birth year of the person whose job is baker") == set(bakers) and len(set(bakers)) > 1
    )
    old = [year for year in bakers if 1500 <= int(year) <= 1599]
    said = "the birth year of the person whose birth year is between 1500 and 1599 and whose job is baker"
    assert answers_in_documents(said) == set(old)
    with pytest.raises(InputError, match="not a question"):
        answers_in_documents("the river of the town whose mayor")


def test_the_direct_share_falls_with_each_injection_and_answers_stay_unique():
    found = question_shares(known=0.7, count=60, injections=2)(0)
    assert found == question_shares(known=0.7, count=60, injections=2)(0)
    assert 1 > found["direct_0"] > found["direct_1"] > found["direct_2"] > 0
    assert found["least_fall"] == pytest.approx(
        min(found["direct_0"] - found["direct_1"], found["direct_1"] - found["direct_2"])
    )
    assert found["unique"] == found["found"] == 1 and found["questions"] == 60
    everything = question_shares(known=1.0, count=20, injections=1)(1)
    assert everything["direct_0"] == everything["direct_1"] == 1 and everything["least_fall"] == 0
    with pytest.raises(InputError, match="count and injections"):
        question_shares(known=0.7, count=0, injections=2)
