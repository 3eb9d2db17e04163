import pytest
import torch
from helpers.image_records import noise, shown_trajectory
from helpers.vision_families import shared
from helpers.vision_policy import CONFIG

from handaxe.core.records import Message, Task
from handaxe.doctor.images import check_images
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyModel
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.make_records import make_trajectory

FORMAT = Compact(TinyImageProcessor(8))


def tasks(*images):
    return [Task(str(k), (Message.of("user", image, "?"),)) for k, image in enumerate(images)]


class Fixed:
    """An image processor that makes as many tokens of every image."""

    def token_ids(self, image):
        return image.ids(64)


class FixedFormat:
    image_processor = Fixed()


def test_without_images_there_is_no_finding():
    assert check_images([Task("t", (Message("user", "?"),))], [make_trajectory()], format=FORMAT, context=64) == []


def test_sizes_and_tokens_of_tasks_and_replies_are_counted():
    (found,) = check_images(tasks(noise(0, 32, 32)), [shown_trajectory(noise(1), noise(2))], format=FORMAT, context=256)
    assert found.check == "images" and found.level == "ok" and found.figures["images"] == 3
    assert (found.figures["tokens/least"], found.figures["tokens/most"], found.figures["fit"]) == (16, 20, 12)
    assert found.found.startswith("3 images from 32x32 (16 tokens) to 40x30 (20 tokens); median 20 tokens, 60 pixels")


@pytest.mark.parametrize(("context", "level"), [(64, "ok"), (60, "warning"), (20, "error")])
def test_an_image_that_fills_the_context_is_graded(context, level):
    (found,) = check_images(tasks(noise(0, 32, 32)), [], format=FORMAT, context=context)
    assert found.level == level and ("shrink" in found.remedy) == (level != "ok")


def test_a_small_image_that_costs_as_much_as_a_large_one_is_a_warning():
    """Trap 21."""
    (found,) = check_images(tasks(noise(0, 16, 16), noise(1, 200, 200)), [], format=FixedFormat(), context=999)
    assert found.level == "warning" and "an image of 16x16 costs as much as one of 200x200" in found.remedy
    (found,) = check_images(tasks(noise(0, 64, 64), noise(1, 200, 200)), [], format=FixedFormat(), context=999)
    assert found.level == "ok"


def test_an_image_that_the_policy_cannot_read_is_an_error():
    (found,) = check_images(tasks(noise(0, 32, 32), noise(1, 500, 8)), [], format=FORMAT, context=999)
    assert found.level == "error" and found.found.startswith(
        "1 of 2 images cannot be read by the policy: an image of 500x8"
    )


def test_a_policy_without_vision_is_blind():
    (found,) = check_images(tasks(noise()), [], format=Compact(), context=99)
    assert (found.check, found.level) == ("blind", "error") and "--model tiny_vision" in found.remedy
    (found,) = check_images([], [shown_trajectory(noise(0), noise(1))], format=Compact(), context=99)
    assert (found.check, found.level, found.figures["replies"]) == ("blind", "warning", 1)


class Resizing(Fixed):
    """An image processor that resizes every image to 64 by 64 pixels."""

    def scale(self, image):
        return (64 * 64 / (image.width * image.height)) ** 0.5


class ResizingFormat:
    image_processor = Resizing()


@pytest.mark.parametrize(
    ("sides", "level", "remedy"),
    [((60, 100), "ok", ""), ((60, 160), "warning", "small text"), ((20, 100), "warning", "the image of 20x20 costs")],
)
def test_images_that_are_shrunk_or_enlarged_too_much_are_a_warning(sides, level, remedy):
    """Factors of a side: 64/60 and 64/100, 64/160 = 0.4, and 64/20 = 3.2."""
    shown = tasks(*(noise(k, side, side) for k, side in enumerate(sides)))
    _, found = check_images(shown, [], format=ResizingFormat(), context=999)
    assert (found.check, found.level) == ("resizing", level) and found.remedy.startswith(remedy)
    assert found.figures["scale/least"] == pytest.approx(64 / max(sides))
    assert found.figures["scale/most"] == pytest.approx(64 / min(sides))


@pytest.mark.parametrize("frozen", [False, True])
def test_a_tower_that_tells_no_image_from_another_is_a_finding(frozen):
    model = TinyModel.new(CONFIG, seed=1)
    model.module.vision.requires_grad_(not frozen)
    shown, format = tasks(noise(0, 16, 16), noise(1, 16, 16)), Compact(model.image_processor)
    *_, found = check_images(shown, [], format=format, context=64, model=model)
    assert (found.check, found.level, found.figures["trained"]) == ("vision", "ok", not frozen)
    assert found.figures["spread"] > 0.01 and ("frozen" if frozen else "trained") in found.found
    model.module.vision.forward = lambda images: [torch.ones(4, CONFIG.width) for _ in images]
    *_, found = check_images(shown, [], format=format, context=64, model=model)
    assert found.level == ("error" if frozen else "warning") and found.figures["spread"] == 0
    assert "tells no image from another" in found.remedy and ("--vision trained" in found.remedy) == frozen


@pytest.mark.hf
@pytest.mark.parametrize("family", ["qwen2_5_vl", "smolvlm", "gemma3"])
def test_scale_is_that_of_the_processor(family):
    """Qwen2.5-VL rounds sides to 28 below 112, SmolVLM has four tiles of 64 and the whole image, Gemma 3 one of 56."""
    pytest.importorskip("transformers")
    wanted = {"qwen2_5_vl": 112 * 112, "smolvlm": 5 * 64 * 64, "gemma3": 56 * 56}[family]
    found = shared(family).images.scale(noise(0, 400, 400))
    assert found == pytest.approx((wanted / (400 * 400)) ** 0.5)
