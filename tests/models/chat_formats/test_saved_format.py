"""Tests of the saved format of pieces; other formats are tested where runs load them."""

import json

import pytest

from handaxe.core.errors import CheckpointError
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.models.chat_formats.saved_format import check_image_processor, read_format, save_format
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.tiny_image_processor import TinyImageProcessor

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


# --- images --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [Compact(TinyImageProcessor(8)), Pieces(FORMAT.vocabulary, TinyImageProcessor(8))])
def test_settings_of_the_image_processor_are_saved(format, tmp_path):
    save_format(tmp_path, format)
    read = read_format(tmp_path)
    assert type(read) is type(format) and read.image_processor == TinyImageProcessor(8)
    save_format(tmp_path, read)


def test_other_settings_on_resuming_name_the_field(tmp_path):  # trap 20
    save_format(tmp_path, Compact(TinyImageProcessor(8)))
    with pytest.raises(CheckpointError, match=r"\(image_processor.patch 8 and not 16\)"):
        save_format(tmp_path, Compact(TinyImageProcessor(16)))
    with pytest.raises(CheckpointError, match="image_processor.kind"):
        save_format(tmp_path, Compact())


def test_format_and_model_of_other_settings_name_the_field():
    text, seeing = (TinyModel.new(TinyConfig(width=16, layers=1, heads=2, patch=patch)) for patch in (0, 8))
    check_image_processor(Compact(TinyImageProcessor(8)), seeing)
    check_image_processor(Compact(), seeing)
    with pytest.raises(CheckpointError, match="image_processor.patch 4 and not 8"):
        check_image_processor(Compact(TinyImageProcessor(4)), seeing)
    with pytest.raises(CheckpointError, match=r"image_processor.kind .* and not null"):
        check_image_processor(Compact(TinyImageProcessor(8)), text)


@pytest.mark.parametrize("value", ["{}", '{"kind": "other", "patch": 8}', '{"kind": "tiny", "patch": "x"}', "3"])
def test_damaged_settings_are_a_checkpoint_error(value, tmp_path):
    save_format(tmp_path, Compact(TinyImageProcessor(8)))
    (tmp_path / "format" / "format.json").write_text(f'{{"format": "compact", "image_processor": {value}}}')
    with pytest.raises(CheckpointError, match="cannot read image_processor"):
        read_format(tmp_path)
