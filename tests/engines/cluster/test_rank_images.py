"""Images go to a rank once, and both ends drop the same ones."""

import pickle

import numpy as np
import pytest

from handaxe.core.images import Image
from handaxe.engines.cluster.rank_images import ImageReceiver, ImageSender

IMAGES = [Image.of(np.full((4, 5, 3), shade, np.uint8)) for shade in range(6)]


def test_an_image_is_sent_once_and_restored_from_its_digest():
    sender, receiver = ImageSender(), ImageReceiver()
    sent = [sender.prepare(IMAGES[:2]), sender.prepare(IMAGES[1:3]), sender.prepare(IMAGES[:3])]
    assert [[isinstance(one, Image) for one in each] for each in sent] == [[True, True], [False, True], [False] * 3]
    restored = [receiver.restore(pickle.loads(pickle.dumps(each))) for each in sent]
    assert restored == [tuple(IMAGES[:2]), tuple(IMAGES[1:3]), tuple(IMAGES[:3])]


@pytest.mark.parametrize("seed", range(5))
def test_both_ends_keep_the_same_images_within_their_pixels(seed):
    """Any sequence of calls: what the driver leaves out, the rank still holds, also when a call is above the limit."""
    sender, receiver = ImageSender(max_pixels=50), ImageReceiver(max_pixels=50)
    draw = np.random.default_rng(seed)
    for _ in range(40):
        images = [IMAGES[k] for k in sorted(set(draw.integers(0, len(IMAGES), draw.integers(1, 5)).tolist()))]
        assert receiver.restore(sender.prepare(images)) == tuple(images)
        assert list(sender._held.images) == list(receiver._held.images) and len(sender._held.images) <= 2
