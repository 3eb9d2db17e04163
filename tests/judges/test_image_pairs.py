"""Which of two images is better: both orders, by words of a served model and by likelihoods of a local policy."""

import numpy as np
import pytest
from helpers.image_records import noise, shown_trajectory
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Group, ParsedTurn, Sampling, Task
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.judges.image_pairs import by_likelihood, by_text, image_pairs, pair_message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load

pytest.importorskip("PIL")


def rollout(seed):
    return shown_trajectory(noise(100, 16, 16), noise(seed, 16, 16), id=str(seed))


A = rollout(1)
B = rollout(2)
C = rollout(3)


def brightness(message):
    return [image.pixels.mean() for image in message.images]


def test_the_question_shows_both_last_images():
    message = pair_message(A, B)
    assert message.images == (noise(1, 16, 16), noise(2, 16, 16))
    assert message.content == (
        f"Request: What stands in ?\nImage 1: {PLACEHOLDER}\nImage 2: {PLACEHOLDER}\n"
        "Which image fits the request better, 1 or 2? Answer with the number."
    )


def test_image_pairs_matches_its_example():
    chances = {(1, 2): 0.9, (2, 1): 0.3}
    names = {noise(seed, 16, 16): seed for seed in (1, 2)}
    judge = image_pairs(
        choose=lambda asked: np.array([chances[tuple(names[image] for image in one.images)] for one in asked])
    )
    assert judge.compare([(A, B)])[0] == pytest.approx(0.8, abs=1e-12)
    assert judge.compare([(B, A)])[0] == pytest.approx(0.2, abs=1e-12)


def test_a_preference_for_a_position_is_no_preference():
    judge = image_pairs(choose=lambda asked: np.ones(len(asked)))
    assert judge.compare([(A, B), (B, C)]).tolist() == [0.5, 0.5]
    assert judge.compare([]).tolist() == []


def test_rank_is_the_mean_against_siblings():
    judge = image_pairs(choose=lambda asked: np.array([float(x > y) for x, y in map(brightness, asked)]))
    group = Group(A.task, (A, B, C))
    shades = [noise(seed, 16, 16).pixels.mean() for seed in (1, 2, 3)]
    expected = [sum(own > other for other in shades) / 2 for own in shades]
    assert judge.rank(group).tolist() == expected
    assert judge.rank(Group(A.task, (A,))).tolist() == [0.5]


class Served:
    """A served model that answers in words."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def ask(self, messages, *, sampling=None):
        self.asked += messages
        return ParsedTurn(self.answers.pop(0))


def test_the_last_number_of_a_served_answer_counts():
    engine = Served("Image 2 has 12 holes, so 1.", "2")
    assert image_pairs(choose=by_text(engine)).compare([(A, B)]).tolist() == [1.0]
    assert [len(one.images) for one in engine.asked] == [2, 2]
    with pytest.raises(VerifierError, match="without 1 or 2"):
        image_pairs(choose=by_text(Served("neither", "1"))).compare([(A, B)])


def test_a_local_policy_with_vision_judges_by_likelihood():
    model = vision_model()
    model.extend_context(512)
    engine, format = LocalEngine(model), Compact(model.image_processor)
    choose = by_likelihood(engine, format)
    judge = image_pairs(choose=choose)
    first, second = (float(choose([pair_message(*pair)])[0]) for pair in ((A, B), (B, A)))
    assert judge.compare([(A, B)])[0] == pytest.approx((first + 1 - second) / 2, abs=1e-6)
    assert first != second and 0 < first < 1


def test_both_answers_share_the_probability():
    """log P -0.5 of the first answer and -1.5 of the second: sigmoid(1) = 0.7311."""

    class Fixed:
        def measure(self, requests):
            self.images = [one.images for one in requests]
            return [{"logp": [-0.5 if one.ids[-1] == ord("1") else -1.5]} for one in requests]

    engine = Fixed()
    message = pair_message(A, B)
    choose = by_likelihood(engine, Compact(load("tiny_vision").format.image_processor))
    assert choose([message, message]) == pytest.approx([0.7311, 0.7311], abs=5e-5)
    assert engine.images == [message.images] * 4


def test_invalid_answers_and_pairs_are_refused():
    with pytest.raises(VerifierError, match="not probabilities"):
        image_pairs(choose=lambda asked: np.full(len(asked), 1.5)).compare([(A, B)])
    other = shown_trajectory(noise(7, 16, 16), noise(8, 16, 16))
    object.__setattr__(other, "task", Task("another", other.task.messages))
    with pytest.raises(InputError, match="different tasks"):
        image_pairs(choose=lambda asked: np.ones(len(asked))).compare([(A, other)])


def test_a_served_policy_sees_both_images_as_a_local_one_does():
    """A real chat server: its answer is that of the same weights in this process."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    from helpers.chat_app import serving

    policy = load("tiny_vision")
    engine, format = LocalEngine(policy.model), policy.format
    message, sampling = pair_message(A, B), Sampling(0.0, max_tokens=24)
    ids = format.start((message,), ()).ids
    (want,) = engine.sample([Sample(ids, sampling, 0, format.stop_ids, format.header_ids, images=message.images)])
    with serving(engine, format) as port:
        client = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=Transcript(), attempts=1)
        found = client.ask([message], sampling=sampling).text
        client.close()
    said = format.parse(want.ids, ())
    assert found and said.raw.startswith(found)
