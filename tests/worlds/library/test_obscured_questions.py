import random
import re
from itertools import product

import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.library.obscured_questions import (
    Clause,
    Known,
    Level,
    Question,
    answerable_from_memory,
    obscured_questions,
)

KINDS = {"kemi": "town", "sone": "town", "arn": "river", "luta": "river", "tolven": "person", "vada": "person"}
FACTS = {
    "kemi": {"river": "arn", "mayor": "tolven", "founding year": "1103"},
    "sone": {"river": "luta", "mayor": "vada", "founding year": "1120"},
    "arn": {"length": "300"},
    "luta": {"length": "410"},
    "tolven": {"birth year": "1512", "job": "baker"},
    "vada": {"birth year": "1518", "job": "baker"},
}
WIDTHS = {"birth year": 25, "founding year": 10}
PLAIN = Question(("river",), (Level("kemi", "town"),), "arn")
MAYOR = Question(("river",), (Level("kemi", "town", (), "mayor"), Level("tolven", "person")), "arn")


def made(**options):
    return obscured_questions(**({"kinds": KINDS, "facts": FACTS, "widths": WIDTHS} | options))


def test_obscured_questions_match_their_examples():
    questions = made()
    assert PLAIN.words == "the river of kemi" and questions.visited(PLAIN) == ["kemi"]
    assert MAYOR.words == "the river of the town whose mayor is tolven"
    once = questions.inject(PLAIN, random.Random(0))
    assert once == MAYOR and questions.is_unique(once)
    twice = questions.inject(once, random.Random(0))
    assert twice.words == "the river of the town whose mayor is the person whose birth year is 1512"
    assert questions.inject(twice, random.Random(0)) is None  # no name is left
    assert questions.blur(twice, random.Random(0)) is None  # no other searchable fact, and several people in 25 years


def test_a_blur_keeps_a_searchable_fact_and_uniqueness():
    level = Level("kemi", "town", (Clause("founding year", "1103"),), "mayor")
    question = Question(("river",), (level, Level("tolven", "person")), "arn")
    vague = made().blur(question, random.Random(0))
    words = "the river of the town whose founding year is between 1100 and 1109 and whose mayor is tolven"
    assert vague.words == words and made().is_unique(vague)
    born = (Clause("birth year", "1512"), Clause("job", "baker"))
    two = Question(("river",), (Level("kemi", "town", (), "mayor"), Level("tolven", "person", born)), "arn")
    assert made().is_unique(two) and made().blur(two, random.Random(0)) is None  # vada is also a baker of these years


def test_descriptions_reveal_neither_answer_nor_intermediate_entities():
    facts = {**FACTS, "arn": {"length": "300", "source": "kemi"}}
    asked = Question(("mayor", "job"), (Level("kemi", "town"),), "baker")
    for seed in range(20):
        one = made(facts=facts).inject(asked, random.Random(seed))
        assert one.levels[0].link != "mayor" and "tolven" not in one.words and "baker" not in one.words
        deeper = made(facts=facts).inject(one, random.Random(seed))
        assert deeper is None or "tolven" not in deeper.words


def slowly(facts, question):
    """Brute force: all assignments of entities to the levels, and their answers."""
    found = set()
    for names in product(*[KINDS if lv.clauses or lv.link else [lv.name] for lv in question.levels]):
        for k, (name, level) in enumerate(zip(names, question.levels)):
            own = facts[name]
            if (level.clauses or level.link) and KINDS[name] != level.kind:
                break
            if level.link and own.get(level.link) != names[k + 1]:
                break
            if any(c.label not in own for c in level.clauses):
                break
            if any(not (c.value <= own[c.label] <= (c.high or c.value)) for c in level.clauses):
                break
        else:
            name = names[0]
            for label in question.path:
                name = facts.get(name, {}).get(label)
            found |= {name} - {None}
    return found


def test_answers_equal_a_brute_force_search():
    questions, vague = made(), (Clause("birth year", "1500", "1524"),)
    asked = [
        PLAIN,
        MAYOR,
        Question(("river",), (Level("kemi", "town", (), "mayor"), Level("tolven", "person", vague)), "arn"),
        Question(("river", "length"), (Level("kemi", "town", (Clause("founding year", "1103"),)),), "300"),
        Question(("length",), (Level("arn", "river", (Clause("length", "301"),)),), "300"),
    ]
    for question in asked:
        wanted = slowly(FACTS, question)
        assert questions.is_unique(question) == (wanted == {question.answer})
        for seed in range(20):
            rng = random.Random(seed)
            part = {name: {k: v for k, v in own.items() if rng.random() < 0.7} for name, own in FACTS.items()}
            assert Known(KINDS, part).answers(question) == slowly(part, question)
    assert slowly(FACTS, asked[2]) == {"arn", "luta"}


def test_answerable_from_memory_follows_the_share_of_known_facts():
    questions = made()
    assert answerable_from_memory(questions, share=1.0)(MAYOR) and not answerable_from_memory(questions, share=0.0)(
        PLAIN
    )
    plain = [answerable_from_memory(questions, share=0.5, seed=seed)(PLAIN) for seed in range(2000)]
    both = [answerable_from_memory(questions, share=0.5, seed=seed)(MAYOR) for seed in range(2000)]
    assert sum(plain) / 2000 == pytest.approx(0.5, abs=0.04) and sum(both) / 2000 == pytest.approx(0.25, abs=0.04)


def test_directly_answerable_questions_are_redrawn_or_given_up():
    assert made(direct=lambda question: True)(PLAIN, injections=1) is None
    named = made(direct=lambda question: "mayor" in question.words)
    facts = {**FACTS, "kemi": {**FACTS["kemi"], "founding year": "1200"}}
    assert named(PLAIN, injections=1) is None  # the fewest facts, and links first: always the mayor
    assert made(facts=facts)(PLAIN, injections=1, seed=3) == made(facts=facts)(PLAIN, injections=1, seed=3)
    assert made()(PLAIN, injections=0) == PLAIN and made()(PLAIN, injections=3) is None
    year = made()(PLAIN, injections=1, blurs=1)
    assert re.fullmatch(
        r"the river of the town whose founding year is between 1100 and 1109 .*mayor is tolven", year.words
    )


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="tries of 1"):
        made(tries=0)
    with pytest.raises(InputError, match="widths of 2"):
        made(widths={"birth year": 1})
    with pytest.raises(InputError, match="blurs with injections"):
        made()(PLAIN, injections=0, blurs=1)
    with pytest.raises(InputError, match="from 0 to 1"):
        answerable_from_memory(made(), share=1.5)
