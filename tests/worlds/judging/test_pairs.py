from collections import Counter

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.judging.pairs import judging
from handaxe.worlds.judging.sources import SOURCES
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = judging()
TRAIN, TEST = WORLD.tasks("train", 800, 1), WORLD.tasks("test", 800, 1)


def reply(task, text):
    return demonstrate(
        WORLD.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


@pytest.mark.parametrize("options", [{}, {"kinds": ("links",)}, {"terse": 1.0}])
def test_judging_keeps_the_world_contract(options):
    check_world(judging(**options), count=12)


@pytest.mark.slow
def test_the_oracle_of_the_source_decides_the_gold_verdict():
    for kind, make in SOURCES.items():
        source = make()
        for task in [task for task in TEST if task.metadata["kind"] == kind][:20]:
            question, *shown = task.messages[0].content.split("\n")
            found = next(one for one in source.world.tasks("test", 800, 1) if f"judging-{one.id}" == task.id)
            texts = task.metadata["candidates"]
            assert question == found.messages[0].content and shown == [f"A{texts[0]}", f"B{texts[1]}"]
            scores = []
            for text in texts:
                speaker = lambda task, facts, text=text: Message("assistant", text)  # noqa: E731
                one = demonstrate(source.world.env(()), found, speaker, format=Compact(), max_turns=1)
                scores.append(source.world.correct(Group(found, (one,))).outcome[0])
            assert task.answer == "AB"[int(np.argmax(scores))] and scores[0] != scores[1]


def chance(picks):
    """Whether the share of correct picks of A lies within 3.5 standard errors of a half."""
    right = [pick == (task.answer == "A") for task, pick in picks]
    return abs(np.mean(right) - 0.5) < 3.5 * 0.5 / len(right) ** 0.5


BLIND = {
    "position": lambda a, b: True,
    "size": lambda a, b: a > b,
    "last digit": lambda a, b: a[-1] > b[-1],
    "first digit": lambda a, b: a[0] >= b[0],
    "length": lambda a, b: len(a) >= len(b),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("rule", BLIND)
def test_a_judge_that_sees_the_candidates_alone_is_at_chance(kind, rule):
    own = [task for task in (*TRAIN, *TEST) if task.metadata["kind"] == kind]
    assert chance([(task, BLIND[rule](*task.metadata["candidates"])) for task in own])


@pytest.mark.parametrize("kind", SOURCES)
def test_counts_of_training_candidates_tell_nothing_about_held_out_pairs(kind):
    """The best judge without the question: which of both texts was right more often in training."""
    won = Counter()
    for task in TRAIN:
        if task.metadata["kind"] == kind:
            texts = task.metadata["candidates"]
            right = texts["AB".index(task.answer)]
            for text in texts:
                won[text] += 1 if text == right else -1
    picks = []
    for task in TEST:
        if task.metadata["kind"] == kind:
            a, b = task.metadata["candidates"]
            picks.append((task, (won[a], a) > (won[b], b)))
    assert chance(picks)


def test_lengths_of_candidates_and_of_the_questions_of_a_kind_are_equal():
    assert {len(text) for task in TEST for text in task.metadata["candidates"]} == {2}
    for kind in SOURCES:
        assert len({len(task.messages[0].content) for task in TEST if task.metadata["kind"] == kind}) == 1


def test_gauges_and_correctness_by_hand():
    task = next(task for task in TEST if task.metadata["kind"] == "links" and task.metadata["work"])
    gold, other = ("[[A]]", "[[B]]") if task.answer == "A" else ("[[B]]", "[[A]]")
    texts = [str(WORLD.expert(task, {}).content), gold, f"R 99 {gold}", other, f"{gold} {other}", "A"]
    ones = [reply(task, text) for text in texts]
    assert WORLD.correct(Group(task, tuple(ones))).outcome.tolist() == [1, 1, 1, 0, 0, 0]
    assert [WORLD.gauges["standard"].top(one, 0) for one in ones] == [1, 0, 0, 0, 0, 0]
    assert [WORLD.gauges["formed"].top(one, 0) for one in ones] == [1, 1, 1, 1, 0, 0]
    assert WORLD.gauges["first"].top(ones[1], 0) == (task.answer == "A")


def test_without_solving_the_expert_gives_the_verdict_alone():
    task = judging(terse=1.0).tasks("train", 1, 0)[0]
    assert WORLD.expert(task, {}).content == f"[[{task.answer}]]"


def test_unknown_kinds_are_errors():
    for kinds in ((), ("hops",)):
        with pytest.raises(InputError, match="links, words"):
            judging(kinds=kinds)


@pytest.mark.parametrize("terse", [-0.1, 1.1])
def test_a_share_out_of_range_is_an_error(terse):
    with pytest.raises(InputError, match="from 0 to 1"):
        judging(terse=terse)


def test_terse_is_the_share_of_verdicts_alone():
    share = np.mean([not task.metadata["work"] for task in (*TRAIN, *TEST)])
    assert abs(share - 0.5) < 3.5 * 0.5 / 1600**0.5
