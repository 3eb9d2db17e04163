import base64
import io
import os
import struct
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import LIMITS, ImageLimits, decode, decode_data_url, to_rgb

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (24, 40, 3), np.uint8)
SMOOTH = np.linspace(0, 255, 24 * 40 * 3).reshape(24, 40, 3).astype(np.uint8)


def encoded(image, kind, **options):
    out = io.BytesIO()
    if isinstance(image, np.ndarray):
        image = Pillow.fromarray(image)
    image.save(out, kind, **options)
    return out.getvalue()


def refused(data, limits=LIMITS):
    with pytest.raises(InputError) as caught:
        decode(data, limits)
    return str(caught.value)


def png_header(width, height):
    """A PNG of two hundred bytes whose header claims a size."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def gps():
    exif = Pillow.Exif()
    exif[0x010E] = "a secret place"
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    return exif


# --- formats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP", "GIF"])
def test_lossless_formats_keep_their_pixels(kind):
    image = Pillow.fromarray(PIXELS).quantize(64).convert("RGB") if kind == "GIF" else Pillow.fromarray(PIXELS)
    found = decode(encoded(image, kind, **({"lossless": True} if kind == "WEBP" else {})))
    assert found.jpeg is None and np.array_equal(found.pixels, np.asarray(image))


def test_animated_gif_gives_its_first_frame():
    frames = [Pillow.new("RGB", (8, 6), color) for color in ("red", "green", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=10)
    assert Pillow.open(io.BytesIO(data)).n_frames == 3
    assert np.array_equal(decode(data).pixels, np.asarray(frames[0]))


def test_cmyk_jpeg_becomes_rgb_and_loses_its_encoding():
    cmyk = Pillow.fromarray(SMOOTH).convert("CMYK")
    found = decode(encoded(cmyk, "JPEG", quality=95))
    assert found.jpeg is None and found.pixels.shape == (24, 40, 3)
    assert np.abs(found.pixels.astype(int) - np.asarray(cmyk.convert("RGB")).astype(int)).mean() < 4


@pytest.mark.parametrize("mode", ["grey", "grey with transparency"])
def test_16_bits_become_8(mode):
    grey = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    extra = {"transparency": 0} if mode != "grey" else {}
    found = decode(encoded(Pillow.fromarray(grey), "PNG", **extra)).pixels
    assert np.array_equal(found, np.repeat((grey // 257).astype(np.uint8)[:, :, None], 3, axis=2))


def test_palette_with_transparency_is_laid_on_white():
    image = Pillow.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.putdata([0, 1, 2])
    found = decode(encoded(image, "PNG", transparency=1)).pixels
    assert found.tolist() == [[[255, 0, 0], [255, 255, 255], [0, 0, 255]]]


def test_half_transparent_pixels_are_blended_with_white():
    rgba = np.array([[[0, 0, 0, 0], [0, 0, 0, 255], [0, 0, 0, 128]]], np.uint8)
    assert decode(encoded(rgba, "PNG")).pixels[0, :, 0].tolist() == [255, 0, 127]
    assert to_rgb(Pillow.fromarray(np.array([[True, False]]))).tolist() == [[[255] * 3, [0] * 3]]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_orientation_is_applied(kind):
    exif = Pillow.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    upright = np.rot90(SMOOTH, -1)
    found = decode(encoded(SMOOTH, kind, exif=exif, **({} if kind == "PNG" else {"quality": 95})))
    assert found.jpeg is None and found.pixels.shape == (40, 24, 3)
    assert np.abs(found.pixels.astype(int) - upright).mean() < (1e-9 if kind == "PNG" else 8)


def test_palette_of_two_bits_and_interlaced_png_agree():
    image = Pillow.fromarray(PIXELS).quantize(4)
    assert np.array_equal(decode(encoded(image, "PNG", bits=2)).pixels, decode(encoded(image, "PNG")).pixels)


# --- metadata of a kept JPEG ---------------------------------------------------------------------------------


@pytest.mark.parametrize("progressive", [False, True])
def test_kept_jpeg_loses_gps_comments_thumbnails_and_trailing_bytes(progressive):
    plain = encoded(SMOOTH, "JPEG", quality=90, progressive=progressive)
    secret = encoded(SMOOTH, "JPEG", quality=90, progressive=progressive, exif=gps(), comment="a secret note")
    jfxx = b"\xff\xe0" + struct.pack(">H", 16) + b"JFXX\0secret123"
    xmp = b"\xff\xe1" + struct.pack(">H", 16) + b"secret_xmp_dat"
    secret = secret[:2] + jfxx + b"\xff\xff" + xmp[1:] + secret[2:] + b"secret tail" + secret
    assert secret.count(b"secret") >= 5
    found = decode(secret)
    assert found.jpeg is not None and b"secret" not in found.jpeg and b"Exif" not in found.jpeg
    assert not Pillow.open(io.BytesIO(found.jpeg)).getexif()
    assert len(found.jpeg) <= len(plain)
    assert np.array_equal(found.pixels, decode(plain).pixels)
    assert np.array_equal(np.asarray(Pillow.open(io.BytesIO(plain))), found.pixels)
    assert decode(found.jpeg).jpeg == found.jpeg


def test_adobe_marker_stays_since_it_names_the_colours():
    data = encoded(SMOOTH, "JPEG", quality=95, keep_rgb=True)
    found = decode(data)
    assert np.array_equal(found.pixels, np.asarray(Pillow.open(io.BytesIO(data))))
    assert found.jpeg is not None and np.array_equal(decode(found.jpeg).pixels, found.pixels)


def test_photo_of_several_images_keeps_the_first_alone():
    image = Pillow.fromarray(SMOOTH)
    data = encoded(image, "MPO", save_all=True, append_images=[Pillow.fromarray(PIXELS)], exif=gps())
    found = decode(data)
    assert found.jpeg is not None and b"secret" not in found.jpeg and b"MPF" not in found.jpeg
    assert len(found.jpeg) < len(data) / 1.5


# --- what is refused -----------------------------------------------------------------------------------------


def test_decompression_bombs_are_refused_by_their_header():
    text = refused(png_header(5000, 5000))
    assert text == (
        "the image is 5000 by 5000 pixels; at most 16777216 pixels and 16384 a side are read: shrink it, or raise "
        "ImageLimits"
    )
    assert "20000 by 3 pixels" in refused(png_header(20_000, 3))
    assert "exceeds limit" in refused(png_header(60_000, 60_000))


BOMBS = """
    import io, resource, struct, sys
    sys.path.insert(0, {folder!r})
    from PIL import Image as Pillow
    from test_image_decoding import png_header
    from handaxe.core.errors import InputError
    from handaxe.core.image_decoding import decode
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20,) * 2)
    frame = b"\\x2f" + struct.pack("<I", 16382 | 16382 << 14) + b"\\0" * 100
    webp = b"RIFF" + struct.pack("<I", 12 + len(frame)) + b"WEBPVP8L" + struct.pack("<I", len(frame)) + frame
    gif = b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\\0\\0\\0" + b"\\x2c\\0\\0\\0\\0"
    gif += struct.pack("<HH", 65535, 65535) + b"\\0\\x02\\x02\\x44\\x01\\0\\x3b"
    bmp = b"BM" + struct.pack("<IIIIiiHHIIiiII", 154, 0, 54, 40, 16000, 16000, 1, 24, 0, 100, 0, 0, 0, 0) + b"x" * 100
    for data in (png_header(12_000, 12_000), png_header(40_000, 40_000), webp, gif, bmp):
        try:
            decode(data)
        except InputError as error:
            print(str(error)[:60])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_bombs_of_every_format_fit_into_100_mb():
    folder = str(Path(__file__).parent)
    program = textwrap.dedent(BOMBS).replace("{folder!r}", repr(folder))
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environ)
    lines = done.stdout.splitlines()
    assert len(lines) == 5, (done.stdout, done.stderr)
    assert all(line.startswith("the image is ") for line in lines)


def test_ratio_of_the_sides_is_limited():
    line = Pillow.new("RGB", (1, 10_000))
    assert refused(encoded(line, "PNG")) == "the image is 1 by 10000 pixels; its sides may differ by a factor of 100"
    assert "1 by 100000 pixels" in refused(png_header(1, 100_000))
    assert decode(encoded(Pillow.new("RGB", (2, 200)), "PNG")).pixels.shape == (200, 2, 3)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_files_are_refused(kind, share):
    data = encoded(PIXELS, kind)
    text = refused(data[: int(len(data) * share)])
    assert "damaged or truncated" in text or "is not an image that can be read" in text


def test_svg_pdf_tiff_and_text_are_no_images():
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1:1/x.png"/></svg>'
    for data in (svg, b"%PDF-1.4\n", encoded(PIXELS, "TIFF"), encoded(PIXELS, "ICO"), b"", b"hello"):
        assert "give PNG, JPEG, WEBP, GIF, BMP" in refused(data)
    assert "and not from a str" in refused("photo.png")


def test_files_beyond_the_limit_of_bytes_and_missing_files_are_refused(tmp_path):
    limits = ImageLimits(bytes=100)
    assert refused(encoded(PIXELS, "PNG"), limits).startswith("the image has more than 100 bytes")
    path = tmp_path / "photo.png"
    assert "photo.png is not a file" in refused(path)
    assert "is not a file" in refused(tmp_path)
    path.write_bytes(encoded(PIXELS, "PNG"))
    assert "photo.png has more than 100 bytes" in refused(path, limits)
    assert np.array_equal(decode(path).pixels, PIXELS)


SEEDS = [encoded(SMOOTH, kind) for kind in LIMITS.formats] + [encoded(SMOOTH, "JPEG", exif=gps(), progressive=True)]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 2000),
)
def test_damaged_bytes_give_an_image_or_an_input_error(data, changes, cut):
    data = bytearray(data)
    for place, value in changes:
        data[place % len(data)] = value
    if cut % 3 == 0:
        del data[cut % len(data) :]
    try:
        found = decode(bytes(data))
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert found.pixels.dtype == np.uint8 and found.pixels.ndim == 3 and found.pixels.shape[2] == 3


def test_data_urls():
    assert decode_data_url("data:image/png;base64," + base64.b64encode(b"abc").decode()) == b"abc"
    for url, words in [
        ("http://example.org/a.png", "nothing is fetched"),
        ("data:image/png,abc", "not in base64"),
        ("data:image/png;base64,ab", "cut off"),
        ("data:image/png;base64,!!!!", "characters outside base64"),
    ]:
        with pytest.raises(InputError, match=words):
            decode_data_url(url)
