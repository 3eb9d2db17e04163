"""Questions with an image: the answerer reads labels after the image, and the key names the image."""

import numpy as np
import pytest
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.asking.ask import Ask
from handaxe.asking.image_question import with_image
from handaxe.asking.policy_answerer import PlacedQuestion, PolicyAnswerer, label_forms, label_requests
from handaxe.asking.prompt import parse_prompt
from handaxe.core.images import is_image_id
from handaxe.core.records import Message
from handaxe.core.requests import Measure
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact

HEAD = '+++\nid = "seen"\nversion = 1\nquoted = ["did"]\nlabels = { yes = ["yes", "ja"], no = ["no"] }\n+++\n'
PROMPT = parse_prompt(HEAD + "{{user}}\n{{did}}?\n", source="seen.md")
FIRST = noise(1, 16, 16)
SECOND = noise(2, 16, 16)


@pytest.fixture(scope="module")
def answerer():
    model = vision_model()
    model.extend_context(256)
    return PolicyAnswerer(LocalEngine(model), Compact(model.image_processor), name="seeing")


def ask(image, did="a"):
    return Ask(with_image(PROMPT, image), {"did": did})


def test_the_image_ends_the_question_and_changes_the_key():
    one = ask(FIRST)
    (message,) = one.prompt.render(one.fields)
    assert message.images == (FIRST,) and message.content == '"a"?\ufffc' and one.prompt.name == "seen@1"
    assert one.key("x") == ask(FIRST).key("x") != ask(SECOND).key("x")


def test_labels_equal_a_loop_over_the_forms(answerer):
    """One request a form, with the image, summed by hand; questions with and without an image in one call."""
    asks = [ask(FIRST), Ask(PROMPT, {"did": "b"}), ask(SECOND), ask(FIRST, did="c")]
    found = answerer.answer(asks)
    engine, format = answerer.engine, answerer.format
    for one, got in zip(asks, found, strict=True):
        (message,) = one.prompt.render(one.fields)
        opening = format.start((message,), ()).ids
        assert any(map(is_image_id, opening)) == bool(message.images)
        want = {}
        for label, forms in PROMPT.labels.items():
            logps = []
            for form in forms:
                ids = format.encode_turn(Message("assistant", form), ())[:-1]
                (said,) = engine.measure([Measure([*opening, *ids], len(opening), images=message.images)])
                logps.append(sum(said["logp"]))
            want[label] = np.log(np.exp(logps).sum())
        assert dict(got.label_logp) == pytest.approx(want, abs=1e-6)
    assert found[0].label_logp != found[2].label_logp


def test_a_question_beyond_the_context_fails_alone(answerer):
    more = parse_prompt(HEAD + "{{user}}\n" + "long " * 60 + "{{did}}?\n", source="long.md")
    found = answerer.answer([Ask(with_image(more, FIRST), {"did": "a"}), ask(FIRST)])
    assert [one.failure for one in found] == ["too_long", ""]


def test_requests_start_at_the_token_that_separates_the_labels():
    format = Compact()
    message = Message("user", "which?")
    opening = format.start((message,), ()).ids
    forms, shared = label_forms({"1": ("1",), "2": ("2",)}, "", format)
    (first, one), (second, two) = label_requests(PlacedQuestion((message,), opening), forms, shared)
    assert (first, second) == ("1", "2") and one.start == two.start == len(opening)
    assert [one.ids[one.start :], two.ids[two.start :]] == [[ord("1")], [ord("2")]]
