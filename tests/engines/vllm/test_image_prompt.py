"""Prompts with images: one placeholder per image, the server's prompt ids, and the images that a server has."""

import numpy as np
import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError, TrainingError
from handaxe.engines.vllm import image_prompt as module
from handaxe.engines.vllm.image_prompt import SentImages, check_prompt_ids, content_parts, image_prompt
from handaxe.models.tiny_image_processor import PLACEHOLDER_ID, TinyImageProcessor

PROCESSOR = TinyImageProcessor(8)
A, B = noise(0, 24, 16), noise(1, 16, 24)
ROW = [7, *A.ids(6), *A.ids(6), 8, *B.ids(6), 9]


def test_each_image_is_one_placeholder_and_the_expected_ids_are_the_trainers():
    hole = PLACEHOLDER_ID
    prompt = image_prompt(np.array(ROW, np.int64), (B, A), PROCESSOR)
    assert prompt.token_ids == [7, hole, hole, 8, hole, 9]
    assert prompt.images == [A, A, B] and prompt.text == 3
    assert prompt.expanded == [7, *[hole] * 12, 8, *[hole] * 6, 9] == PROCESSOR.expand(ROW, {A.key: A, B.key: B})
    assert all(type(token) is int for token in (*prompt.token_ids, *prompt.expanded)), "ids are written as JSON"
    assert image_prompt([1, 2], (A,), PROCESSOR) is None, "without image tokens the body is that of text"


def test_part_of_an_image_is_refused():
    with pytest.raises(InputError, match="hold 2 of the 6 tokens of Image.* reads images whole"):
        image_prompt([7, *A.ids(6)[:2]], (A,), PROCESSOR)


def test_placeholder_in_the_text_before_an_image_is_refused():
    """The server would put the image there, and the text of the image would stay."""
    with pytest.raises(InputError, match=f"before an image holds {PLACEHOLDER_ID}, the placeholder"):
        image_prompt([7, PLACEHOLDER_ID, *A.ids(6)], (A,), PROCESSOR)
    assert image_prompt([7, *A.ids(6), PLACEHOLDER_ID], (A,), PROCESSOR).token_ids == [7, *[PLACEHOLDER_ID] * 2]


def test_parts_name_images_by_digest_and_have_bytes_unless_sent():
    parts = content_parts([A, B, A], {B.digest})
    assert [part["uuid"] for part in parts] == [A.digest, B.digest, A.digest]
    assert [part["url"] for part in parts] == [A.data_url, None, A.data_url]
    assert A.data_url.startswith("data:image/png;base64,") and {part["type"] for part in parts} == {"image_url"}


def test_differing_prompt_ids_name_both_counts():
    prompt = image_prompt(ROW, (A, B), PROCESSOR)
    check_prompt_ids(prompt.expanded, prompt, "http://s")
    with pytest.raises(
        TrainingError, match="http://s makes 19 tokens of 3 images .*, the trainer 18: .*--mm-processor-kw"
    ):
        check_prompt_ids([*prompt.expanded, 5], prompt, "http://s")
    other = [*prompt.expanded[:3], 99, *prompt.expanded[4:]]
    with pytest.raises(TrainingError, match="id 3 of the prompt is 99 there and 256 here"):
        check_prompt_ids(other, prompt, "http://s")


def test_bytes_are_claimed_once_until_they_are_cleared_or_forgotten(monkeypatch):
    sent = SentImages()
    assert sent.claim([A, A]) == frozenset() and sent.claim([A, B]) == {A.digest}
    assert sent.arriving([A]) and sent.arriving([B])
    sent.arrived([A])
    assert not sent.arriving([A]) and sent.claim([A]) == {A.digest}
    sent.forget([A])
    sent.arrived([A])
    assert sent.claim([A]) == frozenset(), "an image whose request failed is sent again"
    sent.clear()
    sent.arrived([A, B])
    assert sent.claim([A, B]) == frozenset(), "a push that clears the caches wins over a request that ends later"
    monkeypatch.setattr(module, "ARRIVAL_TIMEOUT", -1.0)
    sent.renew([A])
    assert not sent.arriving([A]), "no request waits for ever"
