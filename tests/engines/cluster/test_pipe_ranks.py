import os
import signal

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.pipe_ranks import PipedRanks, sendable
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_sendable_loads_unpicklable_functions_in_this_process():
    made = []

    def make_model():
        made.append(TinyModel.new(CONFIG))
        return made[-1]

    assert sendable(make_model)() is made[0] and len(made) == 1
    assert sendable(TinyModel) is TinyModel and len(made) == 1
    loaded = made[0]
    assert sendable(loaded)() is loaded


def test_sendable_refuses_unpicklable_models():
    with pytest.raises(InputError, match="cannot be sent"):
        sendable(lambda: (_ for _ in ()))


def test_driver_does_not_block_on_a_suspended_rank():
    ranks = PipedRanks(1, "cpu")
    try:
        os.kill(ranks.pids()[0], signal.SIGSTOP)
        call = ranks.submit(0, "unload", (bytes(2**24),))  # more than a pipe buffer
        assert ranks.wait([call], 0.1) == []
    finally:
        ranks.end()
