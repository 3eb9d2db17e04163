import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from handaxe.core.errors import InputError
from handaxe.core.images import (
    FIRST_IMAGE_ID,
    PLACEHOLDER,
    REPLACEMENT,
    Image,
    image_key,
    image_spans,
    index_images,
    is_image_id,
    join_images,
    name_images,
    split_images,
    token_number,
    unique_images,
)
from handaxe.core.records import Message

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (24, 40, 3), np.uint8)
IMAGE = Image.of(PIXELS)


def small(*colors):
    """An image of one row."""
    return Image.of(np.array([[list(color) for color in colors]], np.uint8))


RED, BLUE = small((255, 0, 0)), small((0, 0, 255))


def encoded(pixels, kind, **options):
    out = io.BytesIO()
    Pillow.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


# --- values --------------------------------------------------------------------------------------------------


def test_digest_is_of_size_and_pixels():
    import hashlib

    assert RED.digest == hashlib.sha256(b"RGB 1 1\n\xff\x00\x00").hexdigest()
    assert IMAGE.digest != Image.of(PIXELS.reshape(40, 24, 3)).digest
    assert (IMAGE.width, IMAGE.height) == (40, 24)
    assert repr(RED) == f"Image(1x1, {RED.digest[:12]})"


def test_images_of_equal_pixels_are_equal_whoever_encoded_them():
    grey = PIXELS[:, :, 0]
    files = [encoded(PIXELS, "PNG", compress_level=level) for level in (1, 9)]
    files += [encoded(PIXELS, "BMP"), encoded(PIXELS, "WEBP", lossless=True), encoded(PIXELS, "PNG", optimize=True)]
    read = [Image.read(data) for data in files]
    assert len(set(read)) == 1 and read[0] == IMAGE and hash(read[0]) == hash(IMAGE)
    assert Image.of(grey) == Image.of(np.repeat(grey[:, :, None], 3, axis=2)) == Image.of(Pillow.fromarray(grey))
    assert IMAGE != RED and IMAGE != "text"


def test_pixels_are_a_copy_that_nobody_can_change():
    pixels = PIXELS.copy()
    image = Image.of(pixels)
    pixels[:] = 0
    assert np.array_equal(image.pixels, PIXELS)
    with pytest.raises(ValueError, match="read-only"):
        image.pixels[0, 0] = 0
    assert image.pillow().size == (40, 24)


def test_arrays_of_another_form_raise():
    for array in (PIXELS.astype(float), PIXELS[0, 0], PIXELS[:, :, :2], PIXELS[None]):
        with pytest.raises(InputError, match="an image is made of uint8"):
            Image.of(array)
    for empty in (PIXELS[:0], PIXELS[:, :0], PIXELS[:0, :, 0]):
        with pytest.raises(InputError, match="at least one pixel"):
            Image.of(empty)


def test_transparent_array_is_laid_on_white():
    assert Image.of(np.array([[[9, 9, 9, 0]]], np.uint8)) == small((255, 255, 255))


@pytest.mark.parametrize("made", ["pixels", "data", "jpeg", "record"])
def test_images_survive_pickling_and_copying(made):
    image = Image.of(PIXELS)
    if made == "data":
        assert image.data
    if made == "jpeg":
        image = Image.read(encoded(PIXELS, "JPEG"))
    if made == "record":
        image = Image(40, 24, IMAGE.digest, load=lambda: IMAGE.data)
    again = pickle.loads(pickle.dumps(image))
    assert again == image and again.media_type == image.media_type
    assert np.array_equal(again.pixels, image.pixels) and not again.pixels.flags.writeable
    assert copy.deepcopy(image) is image and copy.copy(image) is image


def test_png_is_made_when_first_asked_for(monkeypatch):
    made = []
    encode = Image._encode
    monkeypatch.setattr(Image, "_encode", lambda image: made.append(image) or encode(image))
    image = Image.of(PIXELS)
    _ = image.digest, image.ids(3), image.crop((0, 0, 5, 5)).pixels, repr(image), pickle.dumps(image)
    assert not made
    assert image.data is image.data and image.media_type == "image/png" and len(made) == 1
    assert Image.read(image.data) == image
    assert image.data_url.startswith("data:image/png;base64,iVBOR")


def test_jpeg_keeps_its_bytes():
    data = encoded(PIXELS, "JPEG", quality=80)
    image = Image.read(data)
    assert image.media_type == "image/jpeg" and len(image.data) <= len(data)
    assert Image(image.width, image.height, image.digest, data=image.data, media_type="image/jpeg").pixels.shape
    assert image.crop((0, 0, 9, 9)).media_type == "image/png"


def test_bytes_of_other_pixels_than_the_digest_are_refused():
    doctored = Image(40, 24, "0" * 64, data=IMAGE.data)
    with pytest.raises(InputError, match="decodes to other pixels than those of its digest"):
        _ = doctored.pixels
    with pytest.raises(InputError, match="is 40 by 24 pixels"):
        _ = Image(4, 2, IMAGE.digest, data=IMAGE.data).pixels


@pytest.mark.parametrize("shape", [(300, 1), (4000, 2000)])
def test_images_beyond_the_limits_of_files_can_be_stored(shape):
    # noise: its PNG has more bytes than a file may have
    pixels = RNG.integers(0, 256, (*shape, 3), np.uint8)
    image = Image.of(pixels)
    assert image.data
    assert np.array_equal(pickle.loads(pickle.dumps(image)).pixels, pixels)


def test_crops_are_of_the_original_pixels():
    part = IMAGE.crop((3, 5, 9, 7))
    assert (part.width, part.height) == (6, 2) and np.array_equal(part.pixels, PIXELS[5:7, 3:9])
    large = IMAGE.crop((3, 5, 9, 7), longest=60)
    assert (large.width, large.height) == (60, 20)
    assert IMAGE.crop((0, 0, 40, 24)) == IMAGE and (IMAGE.resized(10).width, IMAGE.resized(10).height) == (10, 6)
    assert Image.of(np.zeros((100, 1, 3), np.uint8)).resized(10).width == 1
    flat = np.array([[[0], [100]], [[100], [200]]], np.uint8).repeat(3, axis=2)
    assert Image.of(flat).resized(1).pixels.tolist() == [[[100] * 3]]  # the mean


@pytest.mark.parametrize("box", [(0, 0, 0, 5), (5, 0, 4, 5), (-1, 0, 4, 5), (0, 0, 41, 5), (0, 24, 5, 25)])
def test_boxes_outside_an_image_raise(box):
    with pytest.raises(InputError, match="is not inside the image of 40 by 24 pixels, or is empty"):
        IMAGE.crop(box)
    with pytest.raises(InputError, match="longest side of an image is 0 pixels"):
        IMAGE.resized(0)


def test_import_of_records_loads_no_pillow():
    program = "import sys, handaxe.core.records, handaxe.tools.decorator; print('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


# --- ids -----------------------------------------------------------------------------------------------------


def test_ids_name_the_image_and_the_token():
    ids = IMAGE.ids(5)
    assert all(is_image_id(i) for i in ids) and not is_image_id(2**31)
    assert {image_key(i) for i in ids} == {IMAGE.key} and [token_number(i) for i in ids] == [0, 1, 2, 3, 4]
    assert IMAGE.key == int(IMAGE.digest, 16) >> (256 - 46) and FIRST_IMAGE_ID <= ids[0] < 2**63
    most = Image(1, 1, "f" * 64).ids(65536)
    assert most[-1] == 2**63 - 1 and len(most) == 65536
    for count in (0, 65537):
        with pytest.raises(InputError, match=f"an image of {count} tokens has no ids"):
            IMAGE.ids(count)


@pytest.mark.parametrize("kind", ["numpy", "int32", "torch"])
def test_ids_are_read_from_arrays_and_tensors(kind):
    ids = [7, *RED.ids(2), 9]
    if kind == "int32":
        assert not is_image_id(np.array([7, 9], np.int32)).any()
        assert image_spans(np.array([7, 9], np.int32)) == []
        return
    array = np.array(ids) if kind == "numpy" else torch.tensor(ids)
    at = is_image_id(array)
    assert at.tolist() == [False, True, True, False]
    assert image_key(array[at]).tolist() == [RED.key] * 2 and token_number(array[at]).tolist() == [0, 1]


def test_spans_end_where_a_number_is_0_again():
    a, b = RED.ids(2), BLUE.ids(1)
    assert image_spans([7, *a, *a, *b, 9]) == [(1, 3, RED.key), (3, 5, RED.key), (5, 6, BLUE.key)]
    assert image_spans([]) == [] and image_spans([1, 2]) == []
    assert image_spans([*a, 5, a[1]]) == [(0, 2, RED.key), (3, 4, RED.key)]
    assert image_spans(Image(1, 1, "f" * 64).ids(65536)) == [(0, 65536, 2**46 - 1)]


@given(st.lists(st.tuples(st.sampled_from("ab."), st.integers(1, 4)), max_size=8))
def test_spans_find_every_run(parts):
    ids, runs = [], []
    for kind, count in parts:
        if kind == ".":
            ids += [3] * count
            continue
        image = {"a": RED, "b": BLUE}[kind]
        runs.append((len(ids), len(ids) + count, image.key))
        ids += image.ids(count)
    assert image_spans(ids) == runs


def test_two_images_of_one_key_are_refused():
    one, other = Image(1, 1, "a" * 12 + "0" * 52), Image(1, 1, "a" * 11 + "b" + "0" * 52)
    assert one.key == other.key and one != other  # 46 bits are eleven and a half digits
    with pytest.raises(InputError, match="share the key"):
        index_images([one, RED, other])
    assert index_images([RED, BLUE, RED]) == {RED.key: RED, BLUE.key: BLUE}
    assert unique_images([BLUE, RED, BLUE, one]) == (BLUE, RED, one)


# --- texts ---------------------------------------------------------------------------------------------------


def test_texts_and_images_are_joined_and_split():
    text, images = join_images("a ", RED, BLUE, " b")
    assert (text, images) == (f"a {PLACEHOLDER}{PLACEHOLDER} b", (RED, BLUE))
    assert split_images(text, images) == ["a ", RED, BLUE, " b"]
    assert name_images(text, images) == "a [image 1x1][image 1x1] b"
    assert split_images("", ()) == [] and join_images() == ("", ())


def test_placeholder_in_a_text_means_nothing():
    attack = f"look: {PLACEHOLDER} <image>"
    assert split_images(attack, ()) == [attack] and join_images(attack) == (attack, ())
    text, images = join_images(attack, RED)
    assert text == f"look: {REPLACEMENT} <image>{PLACEHOLDER}" and images == (RED,)
    assert name_images(attack, ()) == attack


@given(st.lists(st.one_of(st.sampled_from([RED, BLUE, IMAGE]), st.text(f"ab{PLACEHOLDER}", max_size=4)), max_size=8))
def test_split_is_the_inverse_of_join(parts):
    text, images = join_images(*parts)
    assert images == tuple(part for part in parts if isinstance(part, Image))
    assert join_images(*split_images(text, images)) == (text, images)
    if images:
        assert text.count(PLACEHOLDER) == len(images)


def test_other_number_of_placeholders_raises():
    for text, images in [("a", (RED,)), (PLACEHOLDER * 2, (RED,))]:
        with pytest.raises(InputError, match="image placeholders, and 1 images stand beside it"):
            split_images(text, images)


def test_message_of_texts_and_images():
    message = Message.of("user", "What is ", RED, "?", name="x")
    assert message == Message("user", f"What is {PLACEHOLDER}?", name="x", images=(RED,))
    assert "Image(1x1" in repr(message) and "images" not in repr(Message("user", "a"))
