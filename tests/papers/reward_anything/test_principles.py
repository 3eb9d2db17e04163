import numpy as np
import pytest

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.reward_anything.principles import NOVEL, principles
from handaxe.papers.reward_anything.rank_agreement import pair_agreement
from handaxe.testing.worlds import check_world
from handaxe.worlds.judging.order_principle import PRINCIPLES
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = principles()
TRAIN, TEST = WORLD.tasks("train", 600, 0), WORLD.tasks("test", 600, 0)


def reply(task, text):
    return demonstrate(
        WORLD.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


def responses(task):
    return {line[0]: line[1:] for line in task.messages[0].content.split("\n")[1:]}


def test_principles_keeps_the_world_contract():
    check_world(WORLD, count=12)


def test_scores_by_hand():
    """Of 35, 51 and 24: first digits 3, 5, 2 and second digits 5, 1, 4."""
    known = {**PRINCIPLES, **NOVEL}
    found = {wording: [one.score(text) for text in ("35", "51", "24")] for wording, one in known.items()}
    assert found == {"hi 1st": [3, 5, 2], "lo 1st": [3, 1, 4], "hi 2nd": [5, 1, 4], "lo 2nd": [1, 5, 2]}


def test_the_opposite_principle_reverses_the_order_of_the_same_responses():
    known = {**PRINCIPLES, **NOVEL}
    for task in TEST[:80]:
        one = known[task.metadata["principle"]]
        other = next(two for two in known.values() if two.place == one.place and two.high != one.high)
        turned = {name: other.score(text) for name, text in responses(task).items()}
        assert pair_agreement(turned, task.answer) == 0


def test_the_novel_principle_is_in_the_test_split_alone():
    assert {task.metadata["principle"] for task in TRAIN} == set(PRINCIPLES)
    assert {task.metadata["principle"] for task in TEST} == {*PRINCIPLES, *NOVEL}
    assert np.mean([task.metadata["novel"] == "yes" for task in TEST]) == pytest.approx(0.25)


BLIND = {
    "position": lambda found: dict(zip(found, (3, 2, 1), strict=True)),
    "size": lambda found: {name: int(text) for name, text in found.items()},
    "sum": lambda found: {name: sum(map(int, text)) for name, text in found.items()},
}


@pytest.mark.parametrize("rule", BLIND)
def test_a_judge_without_the_principle_is_at_chance(rule):
    """Over equal numbers of all four principles; a scalar reward model sees the responses alone."""
    values = [pair_agreement(BLIND[rule](responses(task)), task.answer) for task in TEST]
    assert abs(np.mean(values) - 0.5) < 3.5 * np.std(values) / len(values) ** 0.5


def test_correctness_needs_the_whole_order():
    task = TEST[0]
    body = '{{"scores":{{"a":{},"b":{},"c":{}}}}}'.format
    gold = [task.answer[name] for name in "abc"]
    tied = [min(gold), *gold[1:]] if gold[0] != min(gold) else [gold[1], *gold[1:]]
    ones = [reply(task, text) for text in (body(*gold), body(*tied), body(*[6 - one for one in gold]), "", "a")]
    assert WORLD.correct(Group(task, tuple(ones))).outcome.tolist() == [1, 0, 0, 0, 0]
    found = [WORLD.gauges["agreement"].top(one, 0) for one in ones]
    assert found[0] == 1 and 0 < found[1] < 1 and found[2:] == [0, 0, 0]
    assert WORLD.gauges["form"].top(reply(task, WORLD.expert(task, {}).content), 0) == pytest.approx(0.95)
