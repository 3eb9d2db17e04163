import pytest

from handaxe.engines.rank_pipes import sendable
from handaxe.errors import InputError
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_what_another_process_cannot_make_is_made_here():
    made = []

    def mine():
        made.append(TinyModel.new(CONFIG))
        return made[-1]

    assert sendable(mine)() is made[0] and len(made) == 1
    assert sendable(TinyModel) is TinyModel and len(made) == 1


def test_what_cannot_be_sent_at_all_is_refused():
    with pytest.raises(InputError, match="cannot be sent"):
        sendable(lambda: (_ for _ in ()))
