import numpy as np
import pytest
import torch
from helpers.image_records import noise
from torch.nn import functional as F

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.models.tiny_vision import TinyVision


def make_vision(width=16, patch=4):
    torch.manual_seed(3)
    return TinyVision(width, patch).double()


def slow_features(vision, image):
    """Features [P, D] of one image by explicit convolutions, one output position at a time."""
    side = vision.processor.patch
    rows, columns = vision.processor.grid(image)
    canvas = np.zeros((rows * side, columns * side, 3))
    for y in range(rows * side):
        for x in range(columns * side):
            canvas[y, x] = image.pixels[min(y, image.height - 1), min(x, image.width - 1)]
    state = torch.tensor(canvas / 127.5 - 1).permute(2, 0, 1)
    for layer in vision.stem:
        if isinstance(layer, torch.nn.Conv2d):
            padded = F.pad(state, (1, 1, 1, 1))
            height = state.shape[1] // 2
            width = state.shape[2] // 2
            out = torch.empty(layer.out_channels, height, width, dtype=torch.float64)
            for y in range(height):
                for x in range(width):
                    window = padded[:, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3]
                    out[:, y, x] = (layer.weight * window).sum((1, 2, 3)) + layer.bias
            state = out
        else:
            state = layer(state[None])[0]
    places = [(y, x) for y in range(rows) for x in range(columns)]
    return torch.stack([state[:, y, x] + vision.rows.weight[y] + vision.columns.weight[x] for y, x in places])


@pytest.mark.exact
def test_features_equal_those_of_the_loop_over_positions():
    vision = make_vision()
    images = [noise(0, 12, 8), noise(1, 9, 6), noise(2, 12, 8)]
    with torch.no_grad():
        found = vision(images)
        for image, one in zip(images, found, strict=True):
            assert one.shape == (len(vision.processor.token_ids(image)), 16)
            assert torch.allclose(one, slow_features(vision, image), atol=1e-9)


def test_default_patch_has_three_convolutions():
    vision = TinyVision(128, 8)
    assert [layer.out_channels for layer in vision.stem if isinstance(layer, torch.nn.Conv2d)] == [32, 64, 128]
    assert sum(parameter.numel() for parameter in vision.parameters()) == 97536


@pytest.mark.exact
def test_insert_replaces_image_tokens_one_by_one():
    vision, (one, other) = make_vision(), (noise(0, 8, 4), noise(1, 8, 4))
    ids = [3, *one.ids(2), *other.ids(2), *one.ids(2), 4]
    x_ND = torch.randn(len(ids), 16, dtype=torch.float64)
    with torch.no_grad():
        found = vision.insert(x_ND, torch.tensor(ids), [other, noise(7), one])
        first, second = vision([one])[0], vision([other])[0]
    want = torch.stack([x_ND[0], *first, *second, *first, x_ND[-1]])
    assert torch.allclose(found, want, atol=1e-12)


def test_insert_without_image_tokens_changes_nothing():  # trap 12
    x_ND = torch.randn(2, 16)
    assert make_vision().insert(x_ND, torch.tensor([1, 2]), [noise()]) is x_ND


@pytest.mark.exact
def test_gradient_of_a_repeated_image_is_the_sum():  # trap 10
    vision, image = make_vision(), noise(0, 8, 4)
    weight = torch.randn(4, 16, dtype=torch.float64)

    def gradient(ids, weight):
        vision.zero_grad()
        (vision.insert(torch.zeros(len(ids), 16).double(), torch.tensor(ids), [image]) * weight).sum().backward()
        return torch.cat([parameter.grad.flatten() for parameter in vision.parameters()])

    both = gradient([*image.ids(2), *image.ids(2)], weight)
    parts = gradient(image.ids(2), weight[:2]) + gradient(image.ids(2), weight[2:])
    assert torch.allclose(both, parts, atol=1e-9) and both.abs().max() > 0


def test_missing_images_and_wrong_token_numbers_are_refused():
    vision, image = make_vision(), noise(0, 8, 4)
    x_ND = torch.zeros(3, 16).double()
    with pytest.raises(InputError, match=f"digest that begins with {image.digest[:11]}"):
        vision.insert(x_ND[:2], torch.tensor(image.ids(2)), [noise(1)])
    with pytest.raises(InputError, match="more tokens than this policy makes"):
        vision.insert(x_ND, torch.tensor(image.ids(3)), [image])


def test_unusable_sizes_are_refused():
    with pytest.raises(InputError, match="4, 8, 16 or 32"):
        TinyVision(16, 6)
    with pytest.raises(InputError, match="width 24 with patch 8 needs a multiple of 16"):
        TinyVision(24, 8)


def test_encoding_of_a_file_plays_no_part():
    vision, image = make_vision(), noise(0, 8, 4)
    again = Image.read(image.data)
    assert torch.equal(vision([image])[0], vision([again])[0])
