import pytest

pytest.importorskip("bm25s")
from helpers.embed_words import embed_words

from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.retrieval_figures import OTHER_K, held_out_figures, retrieval_figures, shared_cases


def test_hits_are_successful_cases_of_the_code(policy):
    """A failed and a successful case of the task's code, and a case of another question."""
    task = policy.world.tasks("test", 1, 0)[0]
    code, path = task.metadata["code"], tuple(task.metadata["path"])
    bank = CaseBank(embed_words)
    for case in (Case(f"1000 {code}?", path, 0.0), Case(f"1000 {code}?", path, 1.0), Case("1000 ?", ("heir",), 1.0)):
        bank.write(case)
    for numbers, hit in (([0], 0), ([1], 1), ([2], 0), ([0, 2, 1], 1), ([], 0)):
        found = held_out_figures(policy, [task], bank, lambda task, k, own=numbers: own[:k], 4, 0)
        assert found["/hit"] == hit and (found[""] == 1 or not hit)


def test_every_retrieval_is_measured_with_the_bank_of_the_stream(policy):
    learned, held_out = policy.world.tasks("train", 6, 0), policy.world.tasks("test", 4, 0)
    options = {"embed": embed_words, "iterations": 2, "k": 2, "seed": 0}
    found = retrieval_figures(policy, learned, held_out, temperature=0.1, **options)
    names = ("none", "random", "similarity", "kernel", "classifier", "drawn")
    assert {"iteration/0", "iteration/1", *names, *(f"{name}/hit" for name in names)} < found.keys()
    assert {f"classifier/k{other}" for other in OTHER_K} < found.keys() and found["none/hit"] == 0
    assert 0 <= found["drawn/top"] <= 1
    sharp = retrieval_figures(policy, learned, held_out, temperature=1e-9, **options)
    assert sharp["drawn/top"] == 1 and sharp["drawn"] == sharp["classifier"] == found["classifier"]
    assert sharp["drawn/hit"] == found["classifier/hit"]


def test_shared_cases_by_hand():
    assert shared_cases([([3, 5], [5, 7]), ([1, 2], [2, 1])]) == 0.75
    assert shared_cases([([3], [5, 7]), ([4, 1, 2], [2])]) == pytest.approx(1 / 6)
