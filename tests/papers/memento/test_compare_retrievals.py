import pytest

pytest.importorskip("bm25s")
from helpers.embed_words import embed_words

from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.compare_retrievals import (
    Shown,
    asked,
    case_text,
    fit_classifier,
    kernel_retrieve,
    play_stream,
    play_with_cases,
)
from handaxe.papers.memento.retrieval_figures import held_out_figures


def oracle(policy, split="train", count=40):
    tasks = policy.world.tasks(split, count, 3)
    return {task.metadata["code"]: Case(asked(task), tuple(task.metadata["path"]), 1.0) for task in tasks}


def test_a_case_of_the_code_answers_the_question(policy):
    tasks, cases = policy.world.tasks("test", 8, 0), oracle(policy)
    played = play_with_cases(policy, tasks, [[cases[task.metadata["code"]]] for task in tasks], seed=0)
    assert [one.reward for one in played] == [1.0] * 8
    assert [one.plan for one in played] == [tuple(task.metadata["path"]) for task in tasks]
    assert [one.question for one in played] == [asked(task) for task in tasks]
    without = play_with_cases(policy, tasks, [[] for _ in tasks], seed=0)
    assert {one.plan for one in without} == {("boss",)}
    assert [one.reward == 1 for one in without] == [task.metadata["path"] == ["boss"] for task in tasks]


def test_the_best_case_is_the_last_line(policy):
    task, cases = policy.world.tasks("test", 1, 0)[0], oracle(policy)
    wrong = Case(f"1000 {task.metadata['code']}?", ("heir", "heir"), 1.0)
    own = cases[task.metadata["code"]]
    assert play_with_cases(policy, [task], [[own, wrong]], seed=0)[0].reward == 1
    assert play_with_cases(policy, [task], [[wrong, own]], seed=0)[0].plan == ("heir", "heir")


def test_a_stream_writes_every_attempt_and_reads_the_bank_of_the_iteration_before(policy):
    tasks = policy.world.tasks("train", 6, 0)
    bank = CaseBank(embed_words)
    sizes = []

    def retrieve(question, k):
        sizes.append(len(bank))
        return bank.nearest(question, k=k)

    success, log = play_stream(policy, tasks, bank, retrieve, k=2, iterations=3, seed=0)
    assert len(bank) == 18 and sizes == [0] * 6 + [6] * 6 + [12] * 6
    assert len(log) == 24 and len(success) == 3
    assert {one.success for one in log} <= {0.0, 1.0} and all(0 <= one.case < 12 for one in log)


def filled(policy):
    bank, log = CaseBank(embed_words), []
    for case in oracle(policy).values():
        bank.write(case)
    for task in policy.world.tasks("train", 60, 1):
        for number, case in enumerate(bank.cases):
            own = case.question.split()[1] == f"{task.metadata['code']}?"
            log.append(Shown(asked(task), number, float(own)))
    return bank, log


def test_learned_retrievals_find_the_code_and_similarity_follows_the_person(policy):
    bank, log = filled(policy)
    learned, kernel = fit_classifier(bank, log, embed_words, seed=0), kernel_retrieve(bank, log)
    tasks = policy.world.tasks("test", 20, 0)
    for retrieve in (learned, kernel):
        found = held_out_figures(policy, tasks, bank, retrieve, 1, 0)
        assert found["/hit"] >= 0.9 and found[""] == found["/hit"]
    assert len(learned("1000 Z?", 3)) == 3 and len(set(learned("1000 Z?", 9))) == len(bank)


def test_kernel_prefers_cases_that_served_similar_questions():
    bank = CaseBank(embed_words)
    for case in (Case("a b?", (), 1.0), Case("c d?", (), 1.0), Case("e f?", (), 0.0)):
        bank.write(case)
    retrieve = kernel_retrieve(bank, [Shown("x y?", 1, 1.0), Shown("x y?", 0, 0.0)])
    assert retrieve("x y?", 2) == [1, 2]


def test_case_text_names_question_plan_and_reward():
    assert case_text(Case("2320 K?", ("boss", "ally"), 1.0)) == "[CASE] 2320 K? [PLAN] boss ally [REWARD] 1"
