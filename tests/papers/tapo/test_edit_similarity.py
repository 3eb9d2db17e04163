import sys

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.papers.tapo.edit_similarity import edit_similarity, in_digits
from handaxe.testing.make_records import make_group, make_task, make_trajectory

pytest.importorskip("rapidfuzz")
CONTRACT = [{}, {"below": 1.0, "most": 3}]
LAB = [
    LabCase(
        "edit_similarity()",
        descriptions,
        lambda world: edit_similarity(),
        why=(
            "By the paper's formula an answer with the reference inside is correct at any length; "
            "combine with `within_length`."
        ),
    ),
]


def scored(answer, *texts, **arguments):
    task = make_task(answer=answer)
    members = [make_trajectory(texts=[text], task=task) for text in texts]
    return edit_similarity(**arguments)(make_group(task=task, trajectories=members)).outcome


def test_edit_similarity_equals_the_worked_examples():
    np.testing.assert_allclose(scored("Paris", "pariss", "pares", "london", ""), [1, 0.8, 0, 0])


def test_a_ratio_of_one_half_scores_zero():
    np.testing.assert_allclose(scored("abcdefghij", "abcdefxxxx", "abcdexxxxx", "abcdefg"), [0.6, 0, 0.7])
    np.testing.assert_allclose(scored("abcdefghij", "abcdefxxxx", below=0.4), [0])


def test_the_best_reference_counts():
    np.testing.assert_allclose(scored(["london", "paris"], "pares", "so it is London"), [0.8, 1])


def test_number_words_and_separators_are_normalized():
    assert in_digits(" Twelve ") == "12" and in_digits("1,024") == "1024" and in_digits("New York") == "new york"
    np.testing.assert_allclose(scored(3, "three"), [1])
    with pytest.raises(TaskError):
        scored(None, "x")


def slow(a, b):
    """The distance by the textbook's table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def test_edit_similarity_equals_a_slow_table():
    rng = np.random.default_rng(0)
    for _ in range(60):
        said, gold = ("".join(rng.choice(list("abc"), size)) for size in rng.integers(1, 12, 2))
        ratio = slow(said, gold) / max(len(said), len(gold))
        wanted = 1.0 if gold in said else 1 - ratio if ratio < 0.5 else 0.0
        np.testing.assert_allclose(scored(gold, said), [wanted])


class Counts:
    """Levenshtein's distance, counting the pairs of letters that it has to look at."""

    pairs = 0

    @classmethod
    def distance(cls, a, b):
        cls.pairs += len(a) * len(b)
        return slow(a, b)


def test_long_answers_take_bounded_time(monkeypatch):
    import rapidfuzz.distance

    monkeypatch.setattr(rapidfuzz.distance, "Levenshtein", Counts)
    long = "ab" * 500_000
    assert scored("paris", long).tolist() == [0] and scored(long, "paris", long[:-1] + "x").tolist() == [0, 0]
    assert Counts.pairs == 0
    assert scored("x" * 120, long)[0] == 0 and Counts.pairs == 100 * 120


def test_edit_similarity_refuses_numbers_out_of_range(monkeypatch):
    for wrong in ({"below": -0.1}, {"below": 1.1}, {"most": 0}):
        with pytest.raises(InputError, match="below="):
            edit_similarity(**wrong)
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(InputError, match=r"handaxe\[fuzzy\]"):
        edit_similarity()
