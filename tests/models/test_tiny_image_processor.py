import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.images import index_images
from handaxe.models.tiny_image_processor import TinyImageProcessor


@pytest.mark.parametrize(
    "width, height, grid", [(32, 32, (4, 4)), (1, 1, (1, 1)), (33, 8, (1, 5)), (128, 121, (16, 16))]
)
def test_image_has_a_token_per_patch(width, height, grid):
    processor, image = TinyImageProcessor(8), noise(width=width, height=height)
    assert processor.grid(image) == grid
    assert processor.token_ids(image) == image.ids(grid[0] * grid[1])


@pytest.mark.parametrize("width, height", [(129, 8), (8, 129)])
def test_larger_image_is_refused_with_advice(width, height):
    with pytest.raises(
        InputError, match=rf"{width}x{height} pixels is too large .* at most 128x128: shrink it, .*resized"
    ):
        TinyImageProcessor(8).token_ids(noise(width=width, height=height))


def test_expand_and_collapse_write_padding():
    processor, image = TinyImageProcessor(8), noise(width=16, height=8)
    ids = [5, *processor.token_ids(image), *processor.token_ids(image), 6]
    assert processor.expand(ids, index_images([image])) == [5, 256, 256, 256, 256, 6]
    assert processor.collapse(ids) == [5, 256, 256, 6]


def test_restore_inverts_describe():
    processor = TinyImageProcessor(16)
    assert processor.describe() == {"kind": "tiny", "patch": 16}
    assert TinyImageProcessor.restore(processor.describe()) == processor
    with pytest.raises(ValueError, match="unknown kind 'other'"):
        TinyImageProcessor.restore({"kind": "other", "patch": 8})
