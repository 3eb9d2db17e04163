import sys

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.papers.tapo.edit_similarity import edit_similarity, in_digits
from handaxe.testing.records import make_group, make_task, make_trajectory

pytest.importorskip("rapidfuzz")
CONTRACT = [{}, {"below": 1.0, "most": 3}]


def scored(answer, *texts, **arguments):
    task = make_task(answer=answer)
    members = [make_trajectory(texts=[text], task=task) for text in texts]
    return edit_similarity(**arguments)(make_group(task=task, trajectories=members)).outcome


def test_example():
    np.testing.assert_allclose(scored("Paris", "pariss", "pares", "london", ""), [1, 0.8, 0, 0])


def test_half_of_the_letters_is_too_far():
    np.testing.assert_allclose(scored("abcdefghij", "abcdefxxxx", "abcdexxxxx", "abcdefg"), [0.6, 0, 0.7])
    np.testing.assert_allclose(scored("abcdefghij", "abcdefxxxx", below=0.4), [0])


def test_the_best_of_several_references_counts():
    np.testing.assert_allclose(scored(["london", "paris"], "pares", "so it is London"), [0.8, 1])


def test_numbers():
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


def test_against_a_slow_table():
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


def test_a_million_characters_cost_no_more_than_a_hundred(monkeypatch):
    import rapidfuzz.distance

    monkeypatch.setattr(rapidfuzz.distance, "Levenshtein", Counts)
    long = "ab" * 500_000
    assert scored("paris", long).tolist() == [0] and scored(long, "paris", long[:-1] + "x").tolist() == [0, 0]
    assert Counts.pairs == 0
    assert scored("x" * 120, long)[0] == 0 and Counts.pairs == 100 * 120


def test_refused(monkeypatch):
    for wrong in ({"below": -0.1}, {"below": 1.1}, {"most": 0}):
        with pytest.raises(InputError, match="below="):
            edit_similarity(**wrong)
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(InputError, match=r"handaxe\[fuzzy\]"):
        edit_similarity()
