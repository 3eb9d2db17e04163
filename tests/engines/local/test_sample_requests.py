import math
from dataclasses import replace

import pytest
from helpers.image_records import noise
from helpers.vision_policy import CONFIG, vision_model

from handaxe.core.errors import InputError, SamplingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.sample_requests import (
    check_request,
    finish_reason,
    make_completion,
    partial_turn,
    remaining_uniforms,
)
from handaxe.engines.local.token_sampling import uniforms


def request(ids=(1, 2), seed=0, stop=(), header=(), partial=None, **sampling):
    return Sample(list(ids), Sampling(**sampling), seed, frozenset(stop), frozenset(header), prefix=partial)


def part(ids):
    return Partial(list(ids), [-1.0] * len(ids), [-1.0] * len(ids), [0] * len(ids))


@pytest.mark.parametrize(
    "invalid, words",
    [
        ({"ids": []}, "no ids"),
        ({"ids": [1] * 12}, "12 ids leave no room"),
        ({"ids": [1, 3]}, "outside"),
        ({"ids": [-1]}, "outside"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": 1e-308}, "temperature is 1e-308; give 0 .greedy., or 1e-30 or more"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"partial": part([3])}, "outside"),
        ({"partial": part([1, 1]), "max_tokens": 2}, "holds 2 tokens and the turn may have 2"),
        ({"ids": [1] * 10, "partial": part([1, 1])}, "holds 2 tokens and the turn may have 2"),
        ({"partial": part([1, 2]), "stop": [2]}, "ends with the id 2"),
        ({"partial": part([1, 2])._replace(logp=[0.0])}, "parallel"),
    ],
)
def test_check_request_names_the_problem(bigram, invalid, words):
    check_request(0, request(), bigram())
    check_request(0, request(partial=part([1]), stop=[2], max_tokens=2), bigram())
    with pytest.raises(InputError, match=f"request 5 cannot be sampled.*{words}"):
        check_request(5, request(**invalid), bigram())


def test_check_request_refuses_a_negative_number_of_alternatives(bigram):
    with pytest.raises(InputError, match="request 5 cannot be sampled: top is -1; give 0"):
        check_request(5, request()._replace(top=-1), bigram())


def test_remaining_uniforms_skip_the_partial_turn():
    assert remaining_uniforms(request(seed=3, max_tokens=5), 99).tolist() == uniforms(3, 5).tolist()
    remaining = remaining_uniforms(request(seed=3, max_tokens=5, partial=part([1, 1])), 99)
    assert remaining.tolist() == uniforms(3, 5)[2:].tolist()
    assert len(remaining_uniforms(request(max_tokens=5), 4)) == 2
    assert partial_turn(request()) == part([])


def test_finish_reason_of_stop_and_header_ids():
    sample = request(stop=[1, 2], header=[2, 3])
    assert [finish_reason(sample, last) for last in range(4)] == ["length", "stop", "stop", "header"]


def test_completion_holds_the_whole_turn_and_refuses_nan():
    done = make_completion(0, request(stop=[2]), part([1, 2]), 0.5)
    assert (done.ids, done.finish, done.seconds, done.version) == ([1, 2], "stop", 0.5, [0, 0])
    with pytest.raises(SamplingError, match="request 4.*not finite") as raised:
        make_completion(4, request(), part([1])._replace(logp=[math.nan]), 0.5)
    assert raised.value.ticket == 4


# --- images --------------------------------------------------------------------------------------------------------

TEXT = replace(CONFIG, patch=0)


def test_image_tokens_need_their_image_and_a_model_with_vision():
    model, text = vision_model(), vision_model(config=TEXT)
    one, other = noise(0, 16, 16), noise(1, 16, 16)
    ids = [1, *one.ids(4), 2]
    check_request(0, request(ids)._replace(images=(other, one)), model)
    with pytest.raises(InputError, match=f"request 3 .* digest that begins with {one.digest[:11]}, which is not among"):
        check_request(3, request(ids)._replace(images=(other,)), model)
    with pytest.raises(InputError, match="the model reads no images"):
        check_request(3, request(ids)._replace(images=(one,)), text)
    with pytest.raises(InputError, match="outside"):
        check_request(3, request([*ids, 999])._replace(images=(one,)), model)
    with pytest.raises(InputError, match="outside"):
        check_request(3, request([1], partial=part(one.ids(1)), max_tokens=4)._replace(images=(one,)), model)


def test_images_without_image_tokens_are_allowed_for_every_model():  # trap 26
    check_request(0, request([1, 2])._replace(images=(noise(),)), vision_model(config=TEXT))


def test_request_that_ends_inside_an_image_read_whole_is_refused():  # trap 7
    model, image = vision_model(), noise(0, 16, 16)
    cut = request([1, *image.ids(4)[:3]])._replace(images=(image,))
    check_request(0, cut, model)
    model.whole_images = True
    check_request(0, request([1, *image.ids(4)])._replace(images=(image,)), model)
    with pytest.raises(InputError, match="ends after token 3 of an image of 4, which this model reads whole"):
        check_request(0, cut, model)
