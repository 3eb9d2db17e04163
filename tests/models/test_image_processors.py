import copy
import pickle

import pytest
from helpers.image_records import noise
from helpers.vision_families import EACH_FAMILY, A, B, conversation, shared, whole_call

from handaxe.core.errors import InputError
from handaxe.core.images import index_images
from handaxe.models.image_processors import ProcessorImages, load_image_processor

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_ids_of_a_conversation_equal_those_of_the_processor(family):
    text, ids = conversation(family, A, B)
    images = shared(family).images
    if family == "llava_onevision":
        alone = [whole_call(family, images.placeholder, [image])["input_ids"][0].tolist() for image in (A, B)]
        assert [images.expand(images.token_ids(image), index_images([image])) for image in (A, B)] == alone
    assert images.expand(ids, index_images([B, A])) == whole_call(family, text, [A, B])["input_ids"][0].tolist()
    assert shared(family).tokenizer.decode(images.collapse(ids)) == text


@pytest.mark.slow
def test_a_second_image_changes_no_token_of_the_first():
    images = shared("llava_onevision").images
    made = images.processor._process_images([[A.pillow(), B.pillow()]], **images._options, return_tensors="pt")
    assert made[1][0].count("<image>") == 17, "the processor's own call with two images of one conversation"
    assert len(images.token_ids(A)) == 70


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_saved_processor_makes_equal_tokens(family, tmp_path):
    images = shared(family).images
    images.save(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    loaded = load_image_processor(tmp_path, tokenizer, family)
    assert loaded.describe() == images.describe() and loaded.family == family
    assert tokenizer.chat_template == shared(family).tokenizer.chat_template
    for other in (loaded, pickle.loads(pickle.dumps(images))):
        assert other.token_ids(A) == images.token_ids(A)
        assert (other.tensors(A)["pixel_values"] == images.tensors(A)["pixel_values"]).all()
    assert copy.deepcopy(images) is images


@pytest.mark.parametrize("family", EACH_FAMILY)
@pytest.mark.parametrize(("width", "height"), [(1, 1), (90, 3), (4, 200), (300, 200)])
def test_images_of_any_shape_have_tokens(family, width, height):
    images = shared(family).images
    assert images.tokens(noise(5, width, height)).features.any()


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_grid_of_tokens_where_an_image_is_one_grid(family):
    """A is 100 by 70: sides rounded to 28 or 32 are 112 by 56 and 96 by 64. Gemma 3 has 2 by 2 tokens, with glue."""
    found = shared(family).images.patch_grid(A)
    want = {"qwen2_vl": (2, 4), "qwen2_5_vl": (2, 4), "qwen3_vl": (2, 3), "gemma3": (2, 2)}.get(family)
    assert (found is None) == (want is None)
    if found is not None:
        assert (found.rows, found.columns) == want and (found.width, found.height) == (1 / want[1], 1 / want[0])
        features = shared(family).images.tokens(A).features
        assert features[found.first :][: want[0] * want[1]].all() and features[: found.first].sum() == 0


def test_refused_shape_is_one_sentence():
    with pytest.raises(InputError, match="processor refuses an image of 400 by 1 pixels: absolute aspect ratio"):
        shared("qwen2_5_vl").images.token_ids(noise(5, 400, 1))


def test_tensors_are_kept_up_to_a_number_of_bytes():
    processor = shared("qwen2_5_vl").images.processor
    size = sum(tensor.nbytes for tensor in ProcessorImages(processor).tensors(A).values())
    images = ProcessorImages(processor, kept_bytes=size)
    first = images.tensors(A)
    assert images.tensors(A) is first
    images.tensors(B)
    again = images.tensors(A)
    assert again is not first and (again["pixel_values"] == first["pixel_values"]).all()
    assert images.token_ids(B), "the numbers of tokens stay known"


def test_settings_are_described():
    images = shared("qwen2_5_vl").images
    described = images.describe()
    assert described["family"] == "qwen2_5_vl" and described["kind"] == "Qwen2VLImageProcessorPil"
    assert described["patch_size"] == 14
    other = copy.deepcopy(images.processor.image_processor)
    other.size = {"shortest_edge": 784, "longest_edge": 1568}
    changed = copy.copy(images.processor)
    changed.image_processor = other
    found = ProcessorImages(changed).describe()
    assert {name for name in found if found[name] != described[name]} == {"size"}


def test_errors_name_the_image():
    images = ProcessorImages(shared("qwen2_5_vl").images.processor)
    with pytest.raises(InputError, match=f"no image with the key {A.key} is given"):
        images.expand(images.token_ids(A), {})
    other = noise(9, 30, 30)
    other.digest = A.digest[:12] + other.digest[12:]
    with pytest.raises(InputError, match="share the key"):
        images.token_ids(other)


def test_tokenizer_without_the_placeholder_is_refused():
    processor = copy.copy(shared("qwen2_5_vl").images.processor)
    processor.image_token = "<picture>"
    with pytest.raises(InputError, match="the tokenizer has no token <picture>, which stands for an image"):
        ProcessorImages(processor)


def test_folder_without_a_processor_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="transformers cannot load an image processor from"):
        load_image_processor(tmp_path, shared("qwen2_5_vl").tokenizer, "qwen2_5_vl")
