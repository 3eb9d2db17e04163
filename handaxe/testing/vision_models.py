"""Small vision-language models of transformers with random weights, each with its real processor.

The tokenizers are byte-level. Weights are so large that a wrong image shows in the logits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from handaxe.models.image_processors import ProcessorImages, make_processor

__all__ = ["SmallVision", "VISION_FAMILIES", "small_vision"]

TEXT: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
}  # fmt: skip
TIED = 0.1
"""Standard deviation of embeddings that are also the head."""
TOWER: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2
}  # fmt: skip
CONTENT = """{%- if m.content is string -%}{{ m.content }}{%- else -%}{%- for part in m.content -%}
{%- if part.type == 'image' -%}IMAGE{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}{%- endif -%}"""
CHATML = (
    "{%- for m in messages -%}{{ '<|im_start|>' + m.role + '\\n' }}"
    + CONTENT
    + "{{ '<|im_end|>\\n' }}{%- endfor -%}"
    + "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)
LISTS = """<|im_start|>{% for m in messages %}{{ m.role | capitalize }}
{%- if m.content[0].type == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}
{%- for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% elif part.type == 'image' %}{{ '<image>' }}
{%- endif %}{% endfor %}<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"""
"""Template of SmolVLM and Idefics3: content is a list of parts."""
TURNS = """<|im_start|>{% for m in messages %}<|turn|>{{ 'model' if m.role == 'assistant' else m.role }}
{% if m.content is string %}{{ m.content | trim }}{% else %}{% for part in m.content %}
{%- if part.type == 'image' %}{{ '<start_of_image>' }}{% else %}{{ part.text | trim }}{% endif %}
{%- endfor %}{% endif -%}
<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|turn|>model
{% endif %}"""
"""In the manner of Gemma 3: every part is stripped."""


class SmallVision(NamedTuple):
    """A transformers module in float64, its image processor and its tokenizer."""

    module: Any
    images: ProcessorImages
    tokenizer: Any


def small_vision(family: str) -> SmallVision:
    """Make a small model of one of `VISION_FAMILIES`; equal for every call. Needs transformers and Pillow."""
    module, processor, tokenizer = _BUILDERS[family](family)
    processor.chat_template = tokenizer.chat_template
    return SmallVision(module, ProcessorImages(processor), tokenizer)


def _import(name: str) -> Any:
    return importlib.import_module(f"transformers{name}")


def _tokenizer(template: str, special: Sequence[str], named: dict[str, str]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={character: i for i, character in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    names = ["<|pad|>", "<|im_start|>", "<|im_end|>", *special]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<|pad|>", eos_token="<|im_end|>", bos_token="<|im_start|>",
        extra_special_tokens=named,
    )  # fmt: skip
    tokenizer.chat_template = template
    return tokenizer


def _module(kind: Any, config: Any, embedding: float = 0.5) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = kind(config).double().eval()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if parameter.ndim >= 2:
                    parameter.normal_(0, embedding if "embed" in name else 0.6 / parameter.shape[-1] ** 0.5)
    return module


def _qwen(family: str) -> tuple[Any, Any, Any]:
    tf = _import("")
    make_images = _import(".models.qwen2_vl.image_processing_pil_qwen2_vl").Qwen2VLImageProcessorPil
    template = CHATML.replace("IMAGE", "{{ '<|vision_start|><|image_pad|><|vision_end|>' }}")
    names = {"image": "<|image_pad|>", "video": "<|video_pad|>"}
    special = ["<|vision_start|>", "<|vision_end|>", *names.values()]
    tokenizer = _tokenizer(template, special, {f"{name}_token": token for name, token in names.items()})
    names |= {"vision_start": "<|vision_start|>", "vision_end": "<|vision_end|>"}
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = TEXT | {"vocab_size": len(tokenizer), "rope_parameters": rope, "bos_token_id": 1, "eos_token_id": 2}
    patch = 16 if family == "qwen3_vl" else 14
    area = (2 * patch) ** 2
    images = make_images(min_pixels=area, max_pixels=16 * area, patch_size=patch, merge_size=2, temporal_patch_size=2)
    if family == "qwen2_vl":
        kinds = tf.Qwen2VLConfig, tf.Qwen2VLForConditionalGeneration
        tower: dict[str, Any] = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2}
    else:
        tower = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 64}
        if family == "qwen2_5_vl":
            kinds = tf.Qwen2_5_VLConfig, tf.Qwen2_5_VLForConditionalGeneration
            tower |= {"window_size": 56, "fullatt_block_indexes": [1]}
        else:
            kinds = tf.Qwen3VLConfig, tf.Qwen3VLForConditionalGeneration
            tower |= {"depth": 3, "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64, "patch_size": 16}
            text |= {"head_dim": 16}
    config = kinds[0](text_config=text, vision_config=tower, **ids)
    return _module(kinds[1], config), make_processor(family, images, tokenizer), tokenizer


def _smolvlm(family: str) -> tuple[Any, Any, Any]:
    tf = _import("")

    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    fake = "<fake_token_around_image>"
    names = {
        "image_token": "<image>", "fake_image_token": fake, "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>", "boi_token": fake, "eoi_token": fake,
    }  # fmt: skip
    tokenizer = _tokenizer(LISTS, [*dict.fromkeys(names.values()), *tiles], names)
    text = TEXT | {"vocab_size": len(tokenizer), "model_type": "llama", "pad_token_id": tokenizer.pad_token_id}
    if family == "smolvlm":
        make_images = _import(".models.smolvlm.image_processing_pil_smolvlm").SmolVLMImageProcessorPil
        kinds = tf.SmolVLMConfig, tf.SmolVLMForConditionalGeneration
    else:
        make_images = _import(".models.idefics3.image_processing_pil_idefics3").Idefics3ImageProcessorPil
        kinds = tf.Idefics3Config, tf.Idefics3ForConditionalGeneration
    images = make_images(size={"longest_edge": 128}, max_image_size={"longest_edge": 64}, do_image_splitting=True)
    config = kinds[0](
        text_config=text, vision_config=TOWER | {"image_size": 64, "patch_size": 16}, scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"), pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return _module(kinds[1], config), make_processor(family, images, tokenizer, {"image_seq_len": 4}), tokenizer


def _gemma3(family: str) -> tuple[Any, Any, Any]:
    tf = _import("")
    make_images = _import(".models.gemma3.image_processing_pil_gemma3").Gemma3ImageProcessorPil
    names = {
        "image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"
    }  # fmt: skip
    tokenizer = _tokenizer(TURNS, ["<|turn|>", *names.values()], names)
    images = make_images(size={"height": 56, "width": 56}, do_pan_and_scan=False)
    text = TEXT | {
        "vocab_size": len(tokenizer), "head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 16,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "pad_token_id": tokenizer.pad_token_id,
    }  # fmt: skip
    soft, begin, end = (tokenizer.convert_tokens_to_ids(name) for name in names.values())
    config = tf.Gemma3Config(
        text_config=text, vision_config=TOWER | {"image_size": 56, "patch_size": 14}, mm_tokens_per_image=4,
        image_token_index=soft, boi_token_index=begin, eoi_token_index=end,
    )  # fmt: skip
    processor = make_processor(family, images, tokenizer, {"image_seq_length": 4})
    return _module(tf.Gemma3ForConditionalGeneration, config, embedding=TIED), processor, tokenizer


def _internvl(family: str) -> tuple[Any, Any, Any]:
    tf = _import("")
    make_images = _import(".models.got_ocr2.image_processing_pil_got_ocr2").GotOcr2ImageProcessorPil
    names = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    tokenizer = _tokenizer(CHATML.replace("IMAGE", "{{ '<IMG_CONTEXT>\\n' }}"), [*names.values()], names)
    images = make_images(size={"height": 56, "width": 56}, crop_to_patches=True, min_patches=1, max_patches=4)
    text = TEXT | {"vocab_size": len(tokenizer), "model_type": "qwen2", "pad_token_id": tokenizer.pad_token_id}
    config = tf.InternVLConfig(
        text_config=text, vision_config=TOWER | {"image_size": [56, 56], "patch_size": [14, 14]}, image_seq_length=4,
        downsample_ratio=0.5, image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
    )  # fmt: skip
    processor = make_processor(family, images, tokenizer, {"image_seq_length": 4})
    return _module(tf.InternVLForConditionalGeneration, config, embedding=TIED), processor, tokenizer


def _llava(family: str) -> tuple[Any, Any, Any]:
    tf = _import("")
    make_images = _import(
        ".models.llava_onevision.image_processing_pil_llava_onevision"
    ).LlavaOnevisionImageProcessorPil

    names = {"image_token": "<image>", "video_token": "<video>"}
    tokenizer = _tokenizer(CHATML.replace("IMAGE", "{{ '<image>\\n' }}"), [*names.values()], names)
    pins = [[56, 56], [56, 112], [112, 56], [112, 112]]
    images = make_images(size={"height": 56, "width": 56}, image_grid_pinpoints=pins)
    text = TEXT | {"vocab_size": len(tokenizer), "model_type": "qwen2", "pad_token_id": tokenizer.pad_token_id}
    tower = TOWER | {
        "model_type": "siglip_vision_model", "image_size": 56, "patch_size": 14, "vision_use_head": False
    }  # fmt: skip
    image, video = (tokenizer.convert_tokens_to_ids(name) for name in names.values())
    config = tf.LlavaOnevisionConfig(
        text_config=text, vision_config=tower, image_grid_pinpoints=pins, image_token_index=image,
        video_token_index=video,
    )  # fmt: skip
    settings = {"num_image_tokens": 16, "vision_feature_select_strategy": "full"}
    processor = make_processor(family, images, tokenizer, settings)
    return _module(tf.LlavaOnevisionForConditionalGeneration, config), processor, tokenizer


_BUILDERS: dict[str, Callable[[str], tuple[Any, Any, Any]]] = {
    "qwen2_vl": _qwen,
    "qwen2_5_vl": _qwen,
    "qwen3_vl": _qwen,
    "smolvlm": _smolvlm,
    "idefics3": _smolvlm,
    "gemma3": _gemma3,
    "internvl": _internvl,
    "llava_onevision": _llava,
}
VISION_FAMILIES = tuple(_BUILDERS)
