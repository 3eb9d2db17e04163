import numpy as np
import pytest

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.urpo.kendall_reward import kendall_tau
from handaxe.papers.urpo.referee_question import read_scores
from handaxe.papers.urpo.requests import rankings, requests
from handaxe.testing.worlds import check_world
from handaxe.worlds.judging.order_principle import PRINCIPLES
from handaxe.worlds.parts.demonstrate import demonstrate


def reply(world, task, text):
    return demonstrate(
        world.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


@pytest.mark.parametrize("world", [requests(), rankings()], ids=["requests", "rankings"])
def test_the_world_contract(world):
    check_world(world, count=12)


@pytest.mark.parametrize(
    "wording, scores",
    [("hi 1st", [1, 0.5, 0, 0, 0, 0]), ("lo 1st", [0, 0.5, 1, 0, 0, 0]), ("hi 2nd", [0.5, 1, 0.25, 0, 0, 0])],
)
def test_quality_by_hand(wording, scores):
    world = requests()
    task = next(one for one in world.tasks("train", 9, 0) if one.metadata["principle"] == wording)
    ones = tuple(reply(world, task, text) for text in ("53", "35", "12", "1", "355", "06"))
    assert world.correct(Group(task, ones)).outcome.tolist() == scores


def test_careless_demonstrations_are_random_and_exact_ones_are_best():
    tasks = requests(careless=0.5).tasks("train", 600, 0)
    best = [PRINCIPLES[one.metadata["principle"]].score(one.metadata["demonstrated"]) == 5 for one in tasks]
    assert abs(np.mean(best) - (0.5 + 0.5 / 5)) < 3.5 * (0.24 / 600) ** 0.5


def test_rankings_have_two_four_or_six_answers_of_different_scores():
    tasks = rankings().tasks("train", 54, 0)
    assert {len(one.answer) for one in tasks} == {2, 4, 6} and all(len(set(one.answer)) > 1 for one in tasks)
    pairs = {(one.metadata["principle"], len(one.answer)) for one in tasks}
    assert len(pairs) == 9
    for one in tasks:
        score = PRINCIPLES[one.metadata["principle"]].score
        assert one.answer == [score(text) for text in one.metadata["answers"]]


def test_a_ranking_is_correct_if_its_order_is():
    world = rankings()
    task = next(one for one in world.tasks("train", 9, 0) if sorted(one.answer) == [1, 4])
    gold = [f"a{task.answer[0]} b{task.answer[1]}", "a3 b2" if task.answer[0] == 4 else "a2 b3", "a3 b3", "a9 b1", "x"]
    ones = tuple(reply(world, task, text) for text in gold)
    assert world.correct(Group(task, ones)).outcome.tolist() == [1, 1, 0, 0, 0]


def test_position_and_size_of_an_answer_tell_nothing():
    """A judge without the principle is at chance, over equal numbers of high and low first digits."""
    kept = [one for one in rankings().tasks("test", 900, 0) if one.metadata["principle"] != "hi 2nd"]
    for rule in (lambda k, text: -k, lambda k, text: int(text)):
        taus = [
            kendall_tau([rule(k, text) for k, text in enumerate(one.metadata["answers"])], one.answer) for one in kept
        ]
        assert abs(np.mean(taus)) < 3.5 * np.std(taus) / len(taus) ** 0.5


def test_the_expert_writes_a_readable_reply():
    world = rankings()
    for task in world.tasks("test", 9, 0):
        assert list(read_scores(world.expert(task, {}).content, len(task.answer))) == task.answer
