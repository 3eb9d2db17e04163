import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import ToolCall
from handaxe.testing.tools import check_tool
from handaxe.tools.segment import otsu_segment, segment

pytest.importorskip("skimage")
pytest.importorskip("PIL")


def grey(rows):
    return np.repeat(np.array(rows, np.uint8)[:, :, None], 3, axis=2)


SMALL = grey([[9, 9, 9, 9], [9, 1, 1, 9], [9, 9, 9, 9]])


def blobs():
    """A large and a small dark disc on a light ground, [40, 60] pixels."""
    pixels = np.full((40, 60, 3), 220, np.uint8)
    ys, xs = np.ogrid[:40, :60]
    pixels[(xs - 15) ** 2 + (ys - 20) ** 2 <= 81] = (150, 40, 40)
    pixels[(xs - 45) ** 2 + (ys - 20) ** 2 <= 16] = (40, 40, 150)
    return pixels


def slow_threshold(values):
    """The brightness that maximizes the variance between both classes, by a loop."""
    best, found = -1.0, 0
    for level in range(int(values.min()), int(values.max())):
        low, high = values[values <= level], values[values > level]
        if len(low) and len(high):
            between = len(low) * len(high) * (low.mean() - high.mean()) ** 2
            if between > best + 1e-9:
                best, found = between, level
    return found


def slow_largest(mask):
    """The largest connected part, by flood fill."""
    left, parts = {tuple(one) for one in np.argwhere(mask)}, []
    while left:
        part, edge = set(), [left.pop()]
        while edge:
            y, x = edge.pop()
            part.add((y, x))
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & left
            left -= near
            edge += near
        parts.append(part)
    out = np.zeros_like(mask)
    out[tuple(np.array(sorted(max(parts, key=len))).T)] = True
    return out


def test_otsu_segment_equals_its_example():
    found = otsu_segment(SMALL, (0, 0, 4, 3))
    assert found.box == (1, 1, 3, 2) and found.area == 2 and found.mask.sum() == 2
    assert found.mask[1, 1] and found.mask[1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_otsu_segment_equals_loops(seed):
    rng = np.random.default_rng(seed)
    pixels = np.clip(blobs() + rng.normal(0, 25, (40, 60, 1)), 0, 255).astype(np.uint8)
    box = (2, 3, 58, 37)
    found = otsu_segment(pixels, box)
    bright = (pixels[3:37, 2:58] @ np.array([0.299, 0.587, 0.114])).round()
    assert (found.mask[3:37, 2:58] == slow_largest(bright <= slow_threshold(bright))).all()
    assert found.mask.sum() == found.area and not found.mask[:3].any()


def test_the_largest_dark_structure_in_the_box_counts():
    assert otsu_segment(blobs(), (0, 0, 60, 40)).box == (6, 11, 25, 30)
    assert otsu_segment(blobs(), (30, 0, 60, 40)).box == (41, 16, 50, 25)
    assert otsu_segment(255 - blobs(), (0, 0, 60, 40), dark=False).box == (6, 11, 25, 30)
    assert otsu_segment(blobs(), (0, 0, 5, 5)) is None


def test_segment_keeps_the_contract_and_replies_with_box_area_and_mask():
    image = Image.of(blobs())
    reply = check_tool(segment(), arguments={"box": [0, 0, 30, 40]}, images=(image,))
    area = int(((np.ogrid[:60] - np.array(15)) ** 2 + (np.arange(40)[:, None] - 20) ** 2 <= 81).sum())
    assert reply.content.startswith(f"box 6 11 25 30 area {area} ")
    (mask,) = reply.images
    assert (mask.width, mask.height) == (30, 40) and set(np.unique(mask.pixels)) == {0, 255}
    assert (mask.pixels[:, :, 0] > 0).sum() == area
    (small,) = segment(longest=20).run(ToolCall("segment", {"box": [0, 0, 30, 40]}, "c0"), images=(image,)).images
    assert (small.width, small.height) == (15, 20)


def test_boxes_without_a_structure_are_retries():
    image = Image.of(blobs())
    for box, words in (([0, 0, 5, 5], "single brightness"), ([0, 0, 3, 9], "has 3 by 9"), ([0, 0, 61, 9], "outside")):
        reply = segment().run(ToolCall("segment", {"box": box}, "c0"), images=(image,))
        assert reply.status == "retry" and (words in reply.content or "not inside" in reply.content)


def test_numbers_out_of_range_raise():
    for wrong in ({"unit": "percent"}, {"longest": 0}, {"smallest": 0}):
        with pytest.raises(InputError, match="give"):
            segment(**wrong)
    assert segment(prefix="slide_").schema.name == "slide_segment"
