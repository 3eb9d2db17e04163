"""Tests that transformers loads exports of vision-language models with the policy's ids, logits and greedy tokens."""

import importlib.util
import json
import re

import pytest
import torch
from helpers.vision_families import EACH_FAMILY, A, B, own_model, read_row, relative, shared

from handaxe.core.errors import InputError
from handaxe.core.images import index_images
from handaxe.core.records import Message, Sampling, ToolCall, ToolSchema
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.exporting.chat_messages import chat_messages, chat_tools, processed_ids
from handaxe.models.exporting.export_policy import export_policy
from handaxe.models.image_processors import load_image_processor
from handaxe.models.load import Policy, load

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
WITHOUT_VIDEOS = ("idefics3", "gemma3")
"""Families whose processor loads without torchvision."""
TORCHVISION = importlib.util.find_spec("torchvision") is not None
CROP = ToolSchema("crop", "Crop.", {"type": "object", "properties": {"box": {"type": "string"}}})
CALL = ToolCall("crop", {"box": "1 2"}, "c0")
ASKED = [Message.of("user", "Look: ", A, " what?")]
TOLD = [Message("user", "what?"), Message("assistant", "", (CALL,)), Message.of("tool", A, call_id="c0", name="crop")]


def policy_of(family):
    model = own_model(family, trained=False)
    model.max_length = 512
    return Policy(model, ChatTemplate(shared(family).tokenizer, image_processor=model.image_processor))


@pytest.fixture(scope="module", params=EACH_FAMILY)
def exported(request, tmp_path_factory):
    """(policy in float64, folder, result)."""
    policy, folder = policy_of(request.param), tmp_path_factory.mktemp(request.param) / "policy"
    return policy, folder, export_policy(*policy, folder, tools=[CROP])


def read_processor(folder, family):
    """The processor of an export: by `AutoProcessor`, or without its part for videos where torchvision is missing."""
    if TORCHVISION or family in WITHOUT_VIDEOS:
        processor = transformers.AutoProcessor.from_pretrained(folder)
        processor.image_processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        return processor
    return load_image_processor(folder, transformers.AutoTokenizer.from_pretrained(folder), family).processor


def inputs_of(processor, messages):
    made = transformers.ProcessorMixin.apply_chat_template(
        processor, chat_messages(messages), tools=chat_tools([CROP]),
        add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
    )  # fmt: skip
    return {name: value.double() if value.is_floating_point() else value for name, value in made.items()}


def wanted_ids(policy, messages):
    return policy.format.start(messages, [CROP]).ids


@pytest.mark.slow
def test_transformers_computes_equal_logits_and_greedy_tokens(exported):
    policy, folder, result = exported
    family = policy.model.image_processor.family
    module = transformers.AutoModelForImageTextToText.from_pretrained(folder)
    processor = read_processor(folder, family)
    assert module.dtype == torch.float64 and result.compared >= 18
    assert result.images == ("one" if family == "llava_onevision" else "several")
    for messages in (ASKED, TOLD):
        made, ids = inputs_of(processor, messages), wanted_ids(policy, messages)
        assert made["input_ids"][0].tolist() == policy.model.image_processor.expand(ids, index_images([A]))
        with torch.no_grad():
            assert relative(module(**made).logits[0], policy.model.head(read_row(policy.model, ids, (A,)))) < 1e-6
        greedy = Sampling(temperature=0.0, max_tokens=6)
        request = Sample(ids, greedy, 0, policy.format.stop_ids, policy.format.header_ids, images=(A,))
        (completion,) = LocalEngine(policy.model).sample([request])
        out_1T = module.generate(**made, max_new_tokens=6, do_sample=False)
        assert out_1T[0, made["input_ids"].shape[1] :].tolist() == completion.ids


def test_handaxe_loads_an_export(exported):
    policy, folder, _ = exported
    loaded = load(folder, dtype="float64")
    for messages in (ASKED, TOLD):
        ids = wanted_ids(policy, messages)
        assert wanted_ids(loaded, messages) == ids
        with torch.no_grad():
            assert relative(read_row(loaded.model, ids, (A,)), read_row(policy.model, ids, (A,))) < 1e-6


def test_text_of_users_and_tools_stands_for_no_image(exported):
    """Also beside an image, and in two parts of a list, which the template joins."""
    policy, folder, _ = exported
    images = load(folder).model.image_processor
    name = policy.model.image_processor.placeholder
    chat = [Message.of("user", f"{name} is ", A, f" {name}{name}?")]
    want = policy.model.image_processor.expand(wanted_ids(policy, chat), index_images([A]))
    assert processed_ids(images, chat, [CROP]) == want
    halves = [{"type": "text", "text": name[:3]}, {"type": "text", "text": name[3:]}]
    whole, parts = (
        images.tokenizer.apply_chat_template([{"role": "user", "content": content}], return_dict=False)
        for content in (name, halves)
    )
    assert whole == parts and images.placeholder_id not in whole


@pytest.mark.slow
@pytest.mark.parametrize("family", ["qwen2_5_vl", "gemma3"])
def test_adapter_exports_merged_and_separate(family, tmp_path):
    from peft import PeftModel

    own_model(family).save(tmp_path / "base")
    policy = load(tmp_path / "base", lora={"r": 2}, lora_vision=True, dtype="float64")
    with torch.no_grad():
        for name, weight in policy.model.module.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.1, generator=torch.Generator().manual_seed(1))
    export_policy(*policy, tmp_path / "merged", tools=[CROP])
    export_policy(*policy, tmp_path / "adapter", tools=[CROP], adapter=True)
    made = inputs_of(read_processor(tmp_path / "adapter", family), ASKED)
    read = transformers.AutoModelForImageTextToText.from_pretrained
    with torch.no_grad():
        want = policy.model.head(read_row(policy.model, wanted_ids(policy, ASKED), (A,)))
        assert relative(read(tmp_path / "merged")(**made).logits[0], want) < 1e-6
        base = read(tmp_path / "base", dtype="float64")
        assert relative(base(**made).logits[0], want) > 1e-3
        adapted = PeftModel.from_pretrained(base, tmp_path / "adapter")
        assert relative(adapted(**made).logits[0], want) < 1e-6
    assert not (tmp_path / "adapter" / "model.safetensors").exists()
    page = (tmp_path / "adapter" / "README.md").read_text()
    assert (
        f'PeftModel.from_pretrained(AutoModelForImageTextToText.from_pretrained("{tmp_path / "base"}"), folder)' in page
    )


@pytest.mark.slow
def test_model_card_shows_an_image_and_its_code_block_runs(tmp_path, monkeypatch, capsys):
    export_policy(*policy_of("gemma3"), tmp_path / "out", tools=[CROP])
    page = (tmp_path / "out" / "README.md").read_text()
    assert "pipeline_tag: image-text-to-text" in page and "fewer tokens" not in page
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path / "out")
    (tmp_path / "out" / "question.png").write_bytes(B.data)
    exec(program, {})
    assert capsys.readouterr().out


def test_a_family_that_counts_images_is_named_in_the_card(tmp_path):
    policy = policy_of("llava_onevision")
    export_policy(*policy, tmp_path / "out")
    assert "fewer tokens of an image" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_hermes_exports_its_own_template(family, tmp_path):
    _, images, tokenizer = shared(family)
    format = Hermes(tokenizer, image_processor=images)
    result = export_policy(own_model(family), format, tmp_path / "out", tools=[CROP])
    assert result.compared >= 18 and result.leaky == ()


def test_processor_of_videos_is_named_for_transformers(tmp_path):
    own_model("qwen2_5_vl").save(tmp_path / "model")
    file = tmp_path / "model" / "processor_config.json"
    settings = json.loads(file.read_text())
    assert settings["video_processor"] == {"video_processor_type": "Qwen2VLVideoProcessor"}
    settings["video_processor"]["max_pixels"] = 99
    file.write_text(json.dumps(settings))
    export_policy(*load(tmp_path / "model"), tmp_path / "out")
    assert json.loads((tmp_path / "out" / file.name).read_text())["video_processor"]["max_pixels"] == 99


def test_template_whose_tool_messages_show_no_images_is_one_sentence(tmp_path):
    policy = policy_of("qwen2_5_vl")
    policy.format.style = policy.format.style._replace(native=True, tool_images=False)
    with pytest.raises(InputError, match="shows no images in tool messages, and an exported template cannot"):
        export_policy(*policy, tmp_path / "out")
    assert not (tmp_path / "out").exists()
