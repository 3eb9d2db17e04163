"""Images of chat requests: read from data: URLs within limits, in their order; everything else is one sentence."""

import base64
import io
import json
import re

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("PIL")
import PIL.Image

from handaxe.core.images import Image, split_images
from handaxe.serving.openai_schema import ApiError, read_request


def picture(height=4, width=6, shade=9):
    return Image.of(np.full((height, width, 3), shade, np.uint8))


def part(url, **fields):
    return {"type": "image_url", "image_url": {"url": url, **fields}}


def read(content, *, role="user", images=True):
    messages = [{"role": "user", "content": "x"}, {"role": role, "content": content}]
    return read_request(json.dumps({"messages": messages}).encode(), model="tiny", max_tokens=8, images=images)


def refused(content, **settings):
    with pytest.raises(ApiError) as raised:
        read(content, **settings)
    assert raised.value.status == 400
    return str(raised.value)


def test_texts_and_images_are_read_in_order():
    first, second = picture(), picture(5, 5)
    request = read([{"type": "text", "text": "a"}, part(first.data_url), part(second.data_url, detail="auto")])
    message = request.messages[1]
    assert split_images(message.content, message.images) == ["a", first, second]
    assert request.images == (first, second)


def test_a_placeholder_in_text_makes_no_image():
    shown = picture()
    message = read([{"type": "text", "text": "\ufffc"}, part(shown.data_url)]).messages[1]
    assert message.images == (shown,) and message.content == "\ufffd\ufffc"


@pytest.mark.parametrize(
    "url, words",
    [
        ("http://127.0.0.1/x.png", "nothing is fetched here"),
        ("file:///etc/passwd", "nothing is fetched here"),
        ("data:image/png,abc", "not in base64"),
        ("data:image/png;base64,@@@", "outside base64"),
        ("data:image/png;base64," + base64.b64encode(b"<svg/>").decode(), "not an image that can be read"),
        (picture().data_url[:-40], "outside base64|damaged|not an image"),
        (picture(1, 200).data_url, "sides may differ"),
    ],
)
def test_an_image_that_cannot_be_read_is_named(url, words):
    assert re.search(words, refused([part(url)]))


def test_limits_hold_for_a_message_and_for_all_images_of_a_request():
    assert "at most 16 images" in refused([part(picture().data_url)] * 17)
    data = io.BytesIO()
    PIL.Image.new("L", (3000, 3000)).save(data, "PNG")
    large = part("data:image/png;base64," + base64.b64encode(data.getvalue()).decode())
    assert read([large]).images[0].width == 3000
    assert "3000 by 3000 pixels; at most 7777216 pixels" in refused([large, large])


def test_detail_roles_and_models_without_images_are_refused():
    shown = part(picture().data_url)
    assert 'detail must be "auto"' in refused([part(picture().data_url, detail="low")])
    assert "reads text only" in refused([shown], images=False)
    assert "images stand in messages of users and tools" in refused([shown], role="system")
    assert "image_url must be an object" in refused([{"type": "image_url", "image_url": 3}])
