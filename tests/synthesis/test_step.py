"""Outcomes, and executions in threads."""

import threading

from handaxe.asking.ask import AskAnswer, Spent
from handaxe.asking.desk import AskRecord
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.step import DraftOutcome, StepRound, SynthesisContext, SynthesisStep, dropped, kept, spent_on

A, B = make_draft("task", {"x": 1}), make_draft("task", {"x": 2})


def test_results_of_threads_have_the_order_of_the_items():
    barrier = threading.Barrier(4, timeout=20)

    def square(n):
        barrier.wait()  # returns once four run at a time
        return n * n

    assert SynthesisContext(0, workers=4).map(square, range(8)) == [n * n for n in range(8)]
    assert SynthesisContext(0, workers=1).map(lambda n: threading.current_thread().name, [0]) == ["MainThread"]


def test_kept_drafts_of_a_round_are_distinct():
    step = SynthesisStep("s", lambda drafts, at: [])
    one = StepRound(0, step, (A, B), (kept(A, B), kept(B)))
    assert one.kept == (A, B) and dropped("why") == DraftOutcome((), "why")


def test_records_leave_out_seconds():
    answer = AskAnswer("no", spent=Spent(3, 2, 1.5, 0.25), by="m")
    record = AskRecord("proposer", "propose@1", "key", ("d", -1, ""), None, answer)
    (asked,) = spent_on([record])
    assert asked == {
        "role": "proposer",
        "prompt": "propose@1",
        "by": "m",
        "read": 3,
        "written": 2,
        "cost": 0.25,
        "failure": "unreadable",
    }
