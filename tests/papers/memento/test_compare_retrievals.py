import numpy as np
import pytest

pytest.importorskip("bm25s")
from helpers.embed_words import embed_words

from handaxe.core.records import Message, Task
from handaxe.papers.memento.case_bank import Case, CaseBank
from handaxe.papers.memento.compare_retrievals import (
    Shown,
    asked,
    case_text,
    fit_classifier,
    kernel_retrieve,
    play_stream,
    play_with_cases,
    retrieve_drawn,
    retrieve_largest,
)
from handaxe.papers.memento.retrieval_figures import held_out_figures


def question(text, id="one"):
    return Task(id, (Message("user", text),), None)


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

    def retrieve(task, k):
        sizes.append(len(bank))
        return bank.nearest(asked(task), k=k)

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
    values, kernel = fit_classifier(bank, log, embed_words, seed=0), kernel_retrieve(bank, log)
    learned = retrieve_largest(values)
    sharp = retrieve_drawn(values, temperature=0.01, seed=0)
    tasks = policy.world.tasks("test", 20, 0)
    for retrieve in (learned, kernel, sharp):
        found = held_out_figures(policy, tasks, bank, retrieve, 1, 0)
        assert found["/hit"] >= 0.9 and found[""] == found["/hit"]
    unknown = question("1000 Z?")
    assert len(learned(unknown, 3)) == 3 and len(set(learned(unknown, 9))) == len(bank)


def test_the_largest_values_are_retrieved_and_the_newest_of_equal_ones():
    retrieve = retrieve_largest(lambda text: np.array([0.2, 0.9, 0.2]) if text == "x?" else np.zeros(3))
    assert retrieve(question("x?"), 2) == [1, 2] and retrieve(question("y?"), 2) == [2, 1]


def test_draws_depend_on_seed_and_task_and_not_on_the_order_of_calls():
    def values(text):
        return np.linspace(0, 1, 8) if text == "x?" else np.linspace(1, 0, 8)

    def draws(seed):
        retrieve = retrieve_drawn(values, temperature=0.5, seed=seed)
        return [retrieve(question("x?", str(n)), 4) for n in range(6)], retrieve

    (found, retrieve), (other, _) = draws(0), draws(1)
    assert [retrieve(question("x?", str(n)), 4) for n in reversed(range(6))] == found[::-1] and other != found
    assert len({tuple(one) for one in found}) > 1 and all(len(set(one)) == 4 for one in found)
    assert retrieve(question("y?", "0"), 8) != retrieve(question("x?", "0"), 8)


def test_draws_follow_the_values_of_the_question():
    """Weights 4 and 1: the first draw is case 0 in 4 of 5 tasks."""
    retrieve = retrieve_drawn(lambda text: np.array([np.log(4), 0.0]), temperature=1.0, seed=3)
    first = [retrieve(question("x?", str(n)), 1) == [0] for n in range(2000)]
    assert np.mean(first) == pytest.approx(0.8, abs=0.03)


def test_kernel_prefers_cases_that_served_similar_questions():
    bank = CaseBank(embed_words)
    for case in (Case("a b?", (), 1.0), Case("c d?", (), 1.0), Case("e f?", (), 0.0)):
        bank.write(case)
    retrieve = kernel_retrieve(bank, [Shown("x y?", 1, 1.0), Shown("x y?", 0, 0.0)])
    assert retrieve(question("x y?"), 2) == [1, 2]


def test_case_text_names_question_plan_and_reward():
    assert case_text(Case("2320 K?", ("boss", "ally"), 1.0)) == "[CASE] 2320 K? [PLAN] boss ally [REWARD] 1"
