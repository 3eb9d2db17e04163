import os
import signal

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.pipe_ranks import PipedRanks, sendable
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_what_another_process_cannot_make_is_made_here():
    made = []

    def mine():
        made.append(TinyModel.new(CONFIG))
        return made[-1]

    assert sendable(mine)() is made[0] and len(made) == 1
    assert sendable(TinyModel) is TinyModel and len(made) == 1
    in_hand = made[0]
    assert sendable(in_hand)() is in_hand


def test_what_cannot_be_sent_at_all_is_refused():
    with pytest.raises(InputError, match="cannot be sent"):
        sendable(lambda: (_ for _ in ()))


def test_the_driver_does_not_wait_for_a_rank_that_reads_nothing():
    ranks = PipedRanks(1, "cpu")
    try:
        os.kill(ranks.pids()[0], signal.SIGSTOP)
        call = ranks.ask(0, "forget", (bytes(2**24),))  # far more than a pipe holds
        assert ranks.ready([call], 0.1) == []
    finally:
        ranks.end()
