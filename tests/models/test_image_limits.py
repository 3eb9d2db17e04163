from types import SimpleNamespace

import pytest
from helpers.image_records import noise
from helpers.vision_families import EACH_FAMILY, FAST, own_model, read_row, relative, shared

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.chat_formats.saved_format import check_image_processor
from handaxe.models.image_limits import limit_pixels
from handaxe.models.image_processors import load_image_processor
from handaxe.models.load import check_options, load, load_format

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")

LEAST = {"qwen2_vl": 28**2, "qwen2_5_vl": 28**2, "qwen3_vl": 32**2}
"""Least pixels of an image, by patch and merge; by tile for the others."""
LARGE = noise(7, 400, 300)


def limited(family, most, folder):
    shared(family).images.save(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return load_image_processor(folder, tokenizer, family, max_pixels=most)


def pixels(images, image):
    """Pixels of all tiles after resizing."""
    return round((images.scale(image) ** 2) * image.width * image.height)


def least(family, folder):
    with pytest.raises(InputError, match=r"max_pixels is 1, and .* makes at least \d+ pixels of an image") as found:
        limited(family, 1, folder)
    return int(str(found.value).split()[-3])


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_no_image_has_more_pixels_than_the_limit(family, tmp_path):
    free = shared(family).images
    smallest = least(family, tmp_path)
    assert smallest == LEAST.get(family, smallest)
    for factor in (1, 2, 3, 6, 12, 40):
        own = limited(family, factor * smallest, tmp_path)
        for image in (LARGE, noise(8, 120, 90), noise(9, 40, 200), noise(9, 5, 5)):
            if family in LEAST and max(image.width, image.height) > factor * min(image.width, image.height):
                continue  # a row of patches
            assert pixels(own, image) <= factor * smallest
            assert len(own.token_ids(image)) <= len(free.token_ids(image))
    if family != "gemma3":
        assert len(limited(family, 2 * smallest, tmp_path).token_ids(LARGE)) < len(free.token_ids(LARGE))


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_a_limit_above_that_of_the_processor_changes_nothing(family, tmp_path):
    free = shared(family).images
    own = limited(family, 10**9, tmp_path)
    assert own.describe() == free.describe()
    assert own.expand(own.token_ids(LARGE), {LARGE.key: LARGE}) == free.expand(
        free.token_ids(LARGE), {LARGE.key: LARGE}
    )


@pytest.mark.parametrize(
    ("most", "edge"),
    [(262_144, 512), (1_310_719, 512), (1_310_720, 1024), (1_500_000, 1024), (2_621_440, 1536), (10**8, 2048)],
)
def test_a_limit_fills_the_tiles_of_smolvlm(most, edge):
    """Tiles of 512 by 512: 4 and the whole image are 1,310,720 pixels; 9 and the whole image 2,621,440."""
    images = SimpleNamespace(max_image_size={"longest_edge": 512}, size={"longest_edge": 2048})
    limit_pixels(SimpleNamespace(image_processor=images), "smolvlm", most)
    assert images.size == {"longest_edge": edge}
    with pytest.raises(InputError, match="max_pixels is 262143, and .* at least 262144 pixels"):
        limit_pixels(SimpleNamespace(image_processor=images), "smolvlm", 262_143)


@pytest.mark.parametrize(("width", "height"), [(2000, 2000), (1600, 900), (300, 3000)])
def test_the_tokens_of_the_page_on_models(width, height):
    """401,408 pixels: 512 tokens of 28 by 28 at most, and one tile of 448 by 448."""
    images = transformers.Qwen2VLImageProcessorPil()
    limit_pixels(SimpleNamespace(image_processor=images), "qwen2_5_vl", 401_408)
    made = images(noise(6, width, height).pillow(), return_tensors="np")
    tokens = int(made["image_grid_thw"].prod()) // images.merge_size**2
    assert 400 <= tokens <= 512
    tiles = SimpleNamespace(size={"height": 448, "width": 448}, min_patches=1, max_patches=12)
    limit_pixels(SimpleNamespace(image_processor=tiles), "internvl", 401_408)
    assert tiles.max_patches == 1


@pytest.mark.parametrize("lora", [0, 2])
@pytest.mark.parametrize("family", EACH_FAMILY)
def test_a_limited_model_reads_images_and_keeps_its_limit(family, lora, tmp_path):
    own_model(family).save(tmp_path / "base")
    most = 2 * least(family, tmp_path / "base")
    model = load(tmp_path / "base", lora=lora, max_pixels=most).model
    assert pixels(model.image_processor, LARGE) <= most
    ids = [*model.tokenizer("see ")["input_ids"], *model.image_processor.token_ids(LARGE)]
    state = read_row(model, ids, (LARGE,))
    assert state.shape[0] == len(ids) and state.isfinite().all()
    model.save(tmp_path / "saved")
    again = load(tmp_path / "saved").model
    assert again.image_processor.describe() == model.image_processor.describe()
    assert relative(read_row(again, ids, (LARGE,)), state) < 1e-6
    if family != "gemma3":
        with pytest.raises(CheckpointError, match="make other tokens of an image"):
            check_image_processor(load_format(tmp_path / "base"), model)
    check_image_processor(load_format(tmp_path / "base", max_pixels=most), model)


def test_a_limit_for_a_model_without_one_is_an_error(tmp_path):
    with pytest.raises(InputError, match="smollm2 reads no images: remove max_pixels=9"):
        load("smollm2", max_pixels=9)
    with pytest.raises(InputError, match="tiny is a tiny model, .* remove max_pixels=9"):
        load("tiny", max_pixels=9)
    with pytest.raises(InputError, match="tiny_vision is a tiny model, .* remove max_pixels=9"):
        check_options("tiny_vision", max_pixels=9)


@pytest.mark.parametrize("most", [0, -4])
def test_a_limit_below_one_is_an_error(most):
    with pytest.raises(InputError, match="give 1 or more"):
        limit_pixels(shared(FAST[0]).images.processor, FAST[0], most)
