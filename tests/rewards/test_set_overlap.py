from itertools import product

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.marag.shelves import found_documents, gold_documents, shelves
from handaxe.papers.reasoning_sql.tables import bigram_overlap, schema_overlap, tables
from handaxe.rewards.set_overlap import set_overlap
from handaxe.testing.make_records import make_group, make_task, make_trajectory


def words(trajectory):
    return trajectory.final_text.split()


def golds(task):
    return task.answer.split()


MEASURES = ("jaccard", "recall", "precision", "f1")
CONTRACT = [{"found": words, "gold": golds, "measure": measure} for measure in MEASURES]
LAB = [
    LabCase("set_overlap(...)", shelves, lambda world: set_overlap(found=found_documents, gold=gold_documents)),
    LabCase("set_overlap(...), items", tables, lambda world: schema_overlap()),
    LabCase("set_overlap(...), pairs of tokens", tables, lambda world: bigram_overlap()),
]
REFERENCE = "4 5"


def overlap(found, gold, measure):
    one = make_trajectory(texts=[found], task=make_task(answer=gold))
    return set_overlap(found=words, gold=golds, measure=measure)(make_group(trajectories=[one])).outcome[0]


def test_set_overlap_matches_the_docstring_example():
    assert [overlap("2 3 9", "1 2 3 4", measure) for measure in MEASURES] == pytest.approx([2 / 5, 1 / 2, 2 / 3, 4 / 7])


def test_empty_sets_overlap_only_with_each_other():
    for measure in MEASURES:
        assert [overlap(*pair, measure) for pair in (("", ""), ("a", ""), ("", "a"))] == [1, 0, 0]


def test_set_overlap_equals_counting():
    sets = [" ".join(s) for s in (("a",), ("a", "b"), ("b", "c", "d"), ("a", "b", "c", "d"), ("e",))]
    for found, gold in product(sets, sets):
        common = sum(word in gold.split() for word in found.split())
        n, m = len(found.split()), len(gold.split())
        expected = [common / (n + m - common), common / m, common / n, 2 * common / (n + m)]
        assert [overlap(found, gold, measure) for measure in MEASURES] == pytest.approx(expected, abs=1e-12)
        assert overlap(found + " " + found, gold, "f1") == overlap(found, gold, "f1")


def test_an_unknown_measure_is_an_error():
    with pytest.raises(InputError, match="give jaccard"):
        set_overlap(found=words, gold=golds, measure="dice")
