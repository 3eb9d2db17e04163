import pytest
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.image_keys import ImageKeys


def twins():
    """Two images with equal keys and other digests."""
    one = noise(0, 16, 16)
    other = noise(1, 16, 16)
    digest = one.digest[:20] + other.digest[20:]
    return one, Image(other.width, other.height, digest, pixels=other.pixels)


def test_equal_keys_of_other_digests_are_refused():  # trap 19
    keys, (one, other) = ImageKeys(), twins()
    keys.add([one, noise(2), one])
    with pytest.raises(InputError, match=f"{other.digest} shares the key .* with {one.digest}"):
        keys.add([other])


def test_engine_refuses_the_second_image_of_a_key_after_the_first_has_ended():
    engine, (one, other) = LocalEngine(vision_model()), twins()

    def request(image):
        return Sample([1, *image.ids(4), 2], Sampling(max_tokens=1), 0, frozenset(), images=(image,))

    engine.sample([request(one)])
    for stream in (engine.stream(), LocalEngine(vision_model()).stream()):
        stream.submit(request(one))
        with pytest.raises(InputError, match="shares the key"):
            stream.submit(request(other))
    with pytest.raises(InputError, match="shares the key"):
        engine.sample([request(other)])
