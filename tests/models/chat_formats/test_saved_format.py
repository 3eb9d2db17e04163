"""Tests of the saved format of pieces; other formats are tested where runs load them."""

import json

import pytest

from handaxe.core.errors import CheckpointError
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.models.chat_formats.saved_format import read_format, save_format

pytest.importorskip("tokenizers")
FORMAT = Pieces(learn_pieces(["the door is locked, the key is red"], size=280))


def test_format_of_pieces_is_saved_with_its_vocabulary(tmp_path):
    save_format(tmp_path, FORMAT)
    read = read_format(tmp_path)
    assert type(read) is Pieces and read.vocabulary == FORMAT.vocabulary
    assert read.encode("the door") == FORMAT.encode("the door")
    save_format(tmp_path, read)  # a resumed run


def test_other_vocabulary_is_another_format(tmp_path):
    save_format(tmp_path, FORMAT)
    for other in (Pieces(learn_pieces(["a blue lamp"], size=270)), Compact()):
        with pytest.raises(CheckpointError, match="was started with another chat format"):
            save_format(tmp_path, other)


@pytest.mark.parametrize("damage", ["missing", "not json"])
def test_damaged_vocabulary_is_a_checkpoint_error(tmp_path, damage):
    save_format(tmp_path, FORMAT)
    file = tmp_path / "format" / "pieces.json"
    if damage == "missing":
        file.unlink()
    else:
        file.write_text("{")
    with pytest.raises(CheckpointError):
        read_format(tmp_path)


def test_compact_is_saved_as_before(tmp_path):
    save_format(tmp_path, Compact())
    assert json.loads((tmp_path / "format" / "format.json").read_text()) == {"format": "compact"}
    assert type(read_format(tmp_path)) is Compact
