import math
import random

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.rewards.bleu import bleu, words_and_marks
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.hops.world import hops

CONTRACT = [{}, {"smooth": False, "limit": True}]
LAB = [
    LabCase("bleu()", descriptions, lambda world: bleu()),
    LabCase("bleu(smooth=False, limit=True)", hops, lambda world: bleu(smooth=False, limit=True)),
]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_bleu_matches_the_docstring_example():
    assert outcome(bleu(), "the cat sat down", "the cat sat") == [pytest.approx(0.7165, abs=5e-5)]
    assert outcome(bleu(smooth=False), "paris", "paris", "rome") == [0, 0]
    assert outcome(bleu(smooth=False, limit=True), "paris", "paris", "rome") == [1, 0]


def test_a_single_wrong_word_scores_084_with_smoothing():
    """A weakness of the formula, see the docstring."""
    assert outcome(bleu(), "paris", "rome") == [pytest.approx(0.5**0.25)]
    assert pytest.approx(0.84, abs=5e-3) == 0.5**0.25


def test_the_best_counts_of_several_references_are_merged():
    answers = ["the cat sat down", "a cat sat"]
    # the shortest reference has three words: nothing is taken off for brevity
    assert outcome(bleu(), answers, "the cat sat") == [1]
    # counts of one n-gram are those of the reference that has it most often, not their sum
    answer = outcome(bleu(order=1, smooth=False), ["b c", "b d"], "b b")
    assert answer == [0.5]


def test_the_order_is_limited_by_the_shortest_reference():
    limited = bleu(smooth=False, limit=True)
    assert outcome(limited, ["b c", "b c d e f"], "b c d") == [pytest.approx(math.sqrt(3 / 3 * 2 / 2))]
    assert outcome(limited, "b c", "c b") == [0]  # no pair is shared
    assert outcome(bleu(order=2, smooth=False, limit=True), "b c d e", "b c d e") == [1]


def test_empty_answers_score_zero_and_bad_tasks_are_errors():
    assert outcome(bleu(), "paris", "", "  ") == [0, 0]
    task = make_task(answer="paris")
    assert bleu()(make_group(trajectories=[make_trajectory(texts=[], layouts=["UU"], task=task)])).outcome.tolist() == [
        0
    ]
    with pytest.raises(InputError, match="order"):
        bleu(order=0)
    with pytest.raises(TaskError, match="without a word"):
        outcome(bleu(), " ", "paris")
    with pytest.raises(TaskError):
        outcome(bleu(), None, "paris")
    assert words_and_marks("The cat, sat.") == ["The", "cat", ",", "sat", "."]


def test_a_very_long_answer_is_split_once():
    cut = []

    def words(text):
        cut.append(len(text))
        return text.split()

    reward = bleu(words=words)
    assert outcome(reward, "the cat", "b " * 500_000)[0] < 1e-4
    assert sorted(cut) == [7, 999_999]


def slow_bleu(answer, references, order, smooth, limit):
    shortest = min(len(one) for one in references)
    order = min(order, shortest) if limit else order
    product = 1.0
    for n in range(1, order + 1):
        grams = [answer[k : k + n] for k in range(len(answer)) if k + n <= len(answer)]
        matched = 0
        for gram in [g for k, g in enumerate(grams) if g not in grams[:k]]:
            most = max(sum(one[k : k + n] == gram for k in range(len(one))) for one in references)
            matched += min(grams.count(gram), most)
        product *= (matched + 1) / (len(grams) + 1) if smooth else (matched / len(grams) if grams else 0.0)
    brevity = math.exp(1 - shortest / len(answer)) if len(answer) < shortest else 1.0
    return brevity * product ** (1 / order)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("limit", [True, False])
def test_bleu_equals_a_slow_loop(smooth, limit):
    draw = random.Random(0)
    for _ in range(200):
        answer, *golds = ([draw.choice("bcd") for _ in range(draw.randint(1, 7))] for _ in range(draw.randint(2, 4)))
        order = draw.randint(1, 4)
        reward = bleu(order=order, smooth=smooth, limit=limit)
        wanted = slow_bleu(answer, golds, order, smooth, limit)
        assert outcome(reward, [" ".join(one) for one in golds], " ".join(answer)) == [pytest.approx(wanted, abs=1e-12)]
