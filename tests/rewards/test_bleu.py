import math
import random

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.rewards.bleu import bleu, words_and_marks
from handaxe.testing.records import make_group, make_task, make_trajectory

CONTRACT = [{}, {"smooth": False, "limit": True}]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_example():
    assert outcome(bleu(), "the cat sat down", "the cat sat") == [pytest.approx(0.7165, abs=5e-5)]
    assert outcome(bleu(smooth=False), "paris", "paris", "rome") == [0, 0]
    assert outcome(bleu(smooth=False, limit=True), "paris", "paris", "rome") == [1, 0]


def test_one_wrong_word_earns_much_where_every_order_is_smoothed():
    """A weakness that the formula has, of which the docstring tells."""
    assert outcome(bleu(), "paris", "rome") == [pytest.approx(0.5**0.25)]
    assert pytest.approx(0.84, abs=5e-3) == 0.5**0.25


def test_several_references():
    answers = ["the cat sat down", "a cat sat"]
    # the shortest reference has three words: nothing is taken off for brevity
    assert outcome(bleu(), answers, "the cat sat") == [1]
    # counts of one n-gram are those of the reference that has it most often, not their sum
    said = outcome(bleu(order=1, smooth=False), ["b c", "b d"], "b b")
    assert said == [0.5]


def test_the_order_is_limited_by_the_shortest_reference():
    limited = bleu(smooth=False, limit=True)
    assert outcome(limited, ["b c", "b c d e f"], "b c d") == [pytest.approx(math.sqrt(3 / 3 * 2 / 2))]
    assert outcome(limited, "b c", "c b") == [0]  # no pair is shared
    assert outcome(bleu(order=2, smooth=False, limit=True), "b c d e", "b c d e") == [1]


def test_edges():
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


def test_a_very_long_answer_is_cut_into_words_once_and_looked_at_once_an_order():
    cut = []

    def words(text):
        cut.append(len(text))
        return text.split()

    reward = bleu(words=words)
    assert outcome(reward, "the cat", "b " * 500_000)[0] < 1e-4
    assert sorted(cut) == [7, 999_999]


def slow_bleu(said, references, order, smooth, limit):
    shortest = min(len(one) for one in references)
    order = min(order, shortest) if limit else order
    product = 1.0
    for n in range(1, order + 1):
        grams = [said[k : k + n] for k in range(len(said)) if k + n <= len(said)]
        matched = 0
        for gram in [g for k, g in enumerate(grams) if g not in grams[:k]]:
            most = max(sum(one[k : k + n] == gram for k in range(len(one))) for one in references)
            matched += min(grams.count(gram), most)
        product *= (matched + 1) / (len(grams) + 1) if smooth else (matched / len(grams) if grams else 0.0)
    brevity = math.exp(1 - shortest / len(said)) if len(said) < shortest else 1.0
    return brevity * product ** (1 / order)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("limit", [True, False])
def test_against_a_slow_loop(smooth, limit):
    draw = random.Random(0)
    for _ in range(200):
        said, *golds = ([draw.choice("bcd") for _ in range(draw.randint(1, 7))] for _ in range(draw.randint(2, 4)))
        order = draw.randint(1, 4)
        reward = bleu(order=order, smooth=smooth, limit=limit)
        wanted = slow_bleu(said, golds, order, smooth, limit)
        assert outcome(reward, [" ".join(one) for one in golds], " ".join(said)) == [pytest.approx(wanted, abs=1e-12)]
