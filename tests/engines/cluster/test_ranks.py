"""What becomes of calls to ranks, with places that answer as told; real processes are in test_cluster.py."""

import pytest

from handaxe.core.errors import CheckpointError, TrainingError
from handaxe.engines.cluster.pipe_ranks import RankDiedError
from handaxe.engines.cluster.ranks import Ranks


class Told:
    """In the place of processes, whose faults cannot be had at will: rank -> what it answers, or raises, or None."""

    def __init__(self, answers, where):
        self.answers, self.doing, self.ends = answers, where, 0

    def ask(self, rank, method, arguments):
        return rank

    def ready(self, calls, timeout):
        return [rank for rank in calls if self.answers[rank] is not None]

    def answer(self, rank):
        if isinstance(self.answers[rank], Exception):
            raise self.answers[rank]
        return self.answers[rank]

    def where(self, ranks, timeout):
        return {rank: self.doing[rank] for rank in ranks if rank in self.doing}

    def end(self):
        self.ends += 1


def ranks(answers, where=None):
    made = Ranks.__new__(Ranks)
    made.count, made.timeout, made._ended = len(answers), 0.01, ""
    made._places = Told(answers, where or {})
    made._end = made._places.end
    return made


def test_answers_come_in_order_of_rank():
    asked = ranks({0: "a", 1: "b"})
    assert asked.call(1, "step", "step") == ["a", "b"] and asked._places.ends == 0


def test_what_is_refused_leaves_the_ranks_where_all_have_answered():
    refused = CheckpointError("no such folder")
    for other, each in ((refused, None), (refused, [()]), ("written", None)):
        asked = ranks({0: refused, 1: other})
        with pytest.raises(CheckpointError, match="no such folder"):
            asked.call(1, "load", "open", each)
        assert asked._places.ends == 0 and not asked.ended


@pytest.mark.parametrize(
    "answers, where, words",
    [
        ({0: RuntimeError("Connection closed by peer"), 1: RankDiedError("code -9")}, {}, "rank 1 died in 'step'"),
        (
            {0: RuntimeError("Connection closed by peer"), 1: MemoryError("full")},
            {},
            "rank 1 failed .*MemoryError: full",
        ),
        ({0: None, 1: ValueError("mine")}, {}, "rank 1 failed in 'step': ValueError: mine"),
        ({0: None, 1: None}, {0: "all_reduce (distributed_c10d.py:9)"}, "rank 1 has said nothing"),
        ({0: None, 1: "fine"}, {0: "sleep (mine.py:3)"}, r"rank 0 has .* in 'step' \(rank 0 is in sleep \(mine.py:3"),
        ({0: None, 1: None}, {}, "rank 0 and 1 has said nothing"),
    ],
)
def test_the_rank_that_is_to_blame_is_named_and_all_end(answers, where, words):
    asked = ranks(answers, where)
    for _ in range(2):  # and whoever asks later is told the same
        with pytest.raises(TrainingError, match=f"{words}.*handaxe resume"):
            asked.call(1, "step", "step")
    assert asked.ended and asked._places.ends >= 1
