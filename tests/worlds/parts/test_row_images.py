"""Images of a user's rows: files below the folder, bytes, data: URLs; nothing is fetched."""

import base64
import io
import os

import numpy as np
import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.worlds.parts import row_images
from handaxe.worlds.parts.row_images import RowImages, cell_images, place_images


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows" / "in").mkdir(parents=True)
    for name, image in (("a", noise(0)), ("in/b", noise(1))):
        (tmp_path / "rows" / f"{name}.png").write_bytes(image.data)
    (tmp_path / "secret.png").write_bytes(noise(9).data)
    return tmp_path / "rows"


def test_files_bytes_and_data_urls_are_read(folder):
    reader, image = RowImages(folder), noise(5)
    url = f"data:image/png;base64,{base64.b64encode(image.data).decode()}"
    sources = [url, image.data, {"bytes": image.data, "path": "gone.png"}]
    assert [reader.read(one) for one in sources] == [image] * 3
    assert reader.read("a.png") == noise(0) and reader.read({"bytes": None, "path": "./in/b.png"}) == noise(1)
    assert list(reader.paths) == ["a.png", "in/b.png"]


def test_pixels_are_read_on_demand_and_few_are_held(folder, monkeypatch):
    monkeypatch.setattr(row_images, "CACHED", 40 * 30 * 3)
    reader = RowImages(folder)
    first, second = reader.read("a.png"), reader.read("in/b.png")
    assert first._pixels is first._data is None
    np.testing.assert_array_equal(first.pixels, noise(0).pixels)
    np.testing.assert_array_equal(second.pixels, noise(1).pixels)
    assert list(reader._recent._held) == [second.digest] and first._pixels is None
    (folder / "a.png").write_bytes(noise(7).data)
    with pytest.raises(InputError, match="has changed since it was first read"):
        _ = first.pixels


def test_location_and_thumbnail_of_a_photograph_are_dropped(folder):
    """Trap 16: GPS data left in the file."""
    from PIL import Image as Pillow

    exif = Pillow.Exif()
    exif[0x8825] = {1: "N", 2: (48.0, 8.0, 0.0)}
    out = io.BytesIO()
    noise().pillow().save(out, "JPEG", exif=exif)
    (folder / "photo.jpg").write_bytes(out.getvalue())
    image = RowImages(folder).read("photo.jpg")
    assert image.media_type == "image/jpeg" and b"Exif" in out.getvalue() and b"Exif" not in image.data


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("http://example.org/a.png", "is an address, and nothing is fetched: download"),
        ("s3://bucket/a.png", "is an address"),
        ("//example.org/a.png", "is an address"),
        ("../secret.png", "is not below the folder"),
        ("in/../../secret.png", "is not below the folder"),
        ("/etc/passwd", "is not below the folder"),
        ("link.png", "is a link out of .*rows, and such links are not followed"),
        ("outside/secret.png", "is a link out of"),
        ("c.png", "there is no image 'c.png' below .*rows"),
        ("in", "is not a file"),
        ("cut.png", "is damaged or truncated"),
        ("text.png", "is not an image that can be read"),
        ("data:image/png,abc", "is not in base64"),
        ("data:image/png;base64,a!", "characters outside base64"),
        (5, "an image is 5; give a path below .*rows, a data: URL or bytes"),
        ({"path": None}, "an image is {'path': None}"),
    ],
)
def test_anything_else_is_one_sentence(folder, cell, message):
    os.symlink(folder.parent / "secret.png", folder / "link.png")
    os.symlink(folder.parent, folder / "outside")
    (folder / "cut.png").write_bytes(noise().data[:-400])
    (folder / "text.png").write_text("no image")
    reader = RowImages(folder)
    reader.prefetch([cell])
    with pytest.raises(InputError, match=message):
        reader.read(cell)
    assert not reader.paths


def test_a_file_is_decoded_once_for_all_rows(folder, monkeypatch):
    read, found = Image.read, []
    monkeypatch.setattr(Image, "read", lambda source: found.append(source) or read(source))
    reader = RowImages(folder)
    reader.prefetch(["a.png", "in/b.png", "in/b.png"])
    before = len(found)
    assert [reader.read("a.png") for _ in range(3)] == [noise(0)] * 3
    assert before in (2, 3) and len(found) == before


def test_cells_hold_none_one_or_a_list():
    assert cell_images(None) == cell_images("") == cell_images([]) == []
    assert cell_images("a") == ["a"] and cell_images(["a", b"b"]) == ["a", b"b"]
    assert cell_images('["a"]') == ['["a"]'] and cell_images('["a"]', split=lambda text: ["a"]) == ["a"]


def test_images_stand_at_marks_of_the_same_number_and_else_before_the_text():
    a, b = noise(0), noise(1)
    assert place_images("what?", []) == ("what?", ()) and place_images("<image>", []) == ("<image>", ())
    assert place_images("what?", [a, b]) == (f"{PLACEHOLDER}{PLACEHOLDER}what?", (a, b))
    assert place_images("<image> or <image>?", [a, b]) == (f"{PLACEHOLDER} or {PLACEHOLDER}?", (a, b))
    assert place_images(f"{PLACEHOLDER}?", [a]) == (f"{PLACEHOLDER}?", (a,))
    assert place_images("<image>?", [a, b]) == (f"{PLACEHOLDER}{PLACEHOLDER}<image>?", (a, b))
    assert place_images(f"{PLACEHOLDER} <image> {PLACEHOLDER}", [a]) == (f"\ufffd {PLACEHOLDER} \ufffd", (a,))
