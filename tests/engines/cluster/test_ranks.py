"""Calls to ranks with a scripted backend; test_engine.py has the tests with real processes."""

import pytest

from handaxe.core.errors import CheckpointError, TrainingError
from handaxe.engines.cluster.pipe_ranks import RankDiedError
from handaxe.engines.cluster.ranks import Ranks


class ScriptedBackend:
    """Backend with a scripted result, exception or None (no answer) for each rank."""

    def __init__(self, results, stacks):
        self.results, self.rank_stacks, self.ends = results, stacks, 0

    def submit(self, rank, method, arguments):
        return rank

    def wait(self, calls, timeout):
        return [rank for rank in calls if self.results[rank] is not None]

    def result(self, rank):
        if isinstance(self.results[rank], Exception):
            raise self.results[rank]
        return self.results[rank]

    def stacks(self, ranks, timeout):
        return {rank: self.rank_stacks[rank] for rank in ranks if rank in self.rank_stacks}

    def end(self):
        self.ends += 1


def make_ranks(results, stacks=None):
    made = Ranks.__new__(Ranks)
    made.count, made.timeout, made._ended = len(results), 0.01, ""
    made._backend = ScriptedBackend(results, stacks or {})
    made._end = made._backend.end
    return made


def test_call_returns_results_in_order_of_rank():
    ranks = make_ranks({0: "a", 1: "b"})
    assert ranks.call(1, "step", "step") == ["a", "b"] and ranks._backend.ends == 0


def test_refusal_answered_by_all_ranks_keeps_them_running():
    refused = CheckpointError("no such folder")
    for other, arguments in ((refused, None), (refused, [()]), ("written", None)):
        ranks = make_ranks({0: refused, 1: other})
        with pytest.raises(CheckpointError, match="no such folder"):
            ranks.call(1, "load", "open_checkpoint", arguments)
        assert ranks._backend.ends == 0 and not ranks.ended


@pytest.mark.parametrize(
    "results, stacks, words",
    [
        (
            {0: RuntimeError("Connection closed by peer"), 1: RankDiedError("code -9", killed=True)},
            {},
            "rank 1 died in 'step'.*exceeds the memory.*use more ranks",
        ),
        ({0: "fine", 1: RankDiedError("code 1")}, {}, "rank 1 died in 'step'.*printed its error above"),
        (
            {0: RuntimeError("Connection closed by peer"), 1: MemoryError("full")},
            {},
            "rank 1 failed .*MemoryError: full.*use more ranks",
        ),
        ({0: None, 1: ValueError("mine")}, {}, "rank 1 failed in 'step': ValueError: mine.*Correct the cause"),
        ({0: None, 1: None}, {0: "all_reduce (distributed_c10d.py:9)"}, "rank 1 did not answer"),
        ({0: None, 1: "fine"}, {0: "sleep (mine.py:3)"}, r"rank 0 did .* in 'step' \(rank 0 is in sleep \(mine.py:3"),
        ({0: None, 1: None}, {}, "rank 0 and 1 did not answer.*larger timeout="),
    ],
)
def test_failure_names_the_causing_rank_and_ends_all(results, stacks, words):
    ranks = make_ranks(results, stacks)
    for _ in range(2):  # later calls raise the same error
        with pytest.raises(TrainingError, match=words) as error:
            ranks.call(1, "step", "step")
        assert "all ranks were ended" in str(error.value) and "learning rate" not in str(error.value)
    assert ranks.ended and ranks._backend.ends >= 1


def test_before_call_runs_before_each_call():
    ranks, events = make_ranks({0: "a"}), []
    ranks.before_call = lambda: events.append("before")
    submit = ranks._backend.submit
    ranks._backend.submit = lambda *arguments: events.append("call") or submit(*arguments)
    ranks.call(1, "step", "step")
    ranks.free_cached_memory()
    assert events == ["before", "call"] * 2
