import datetime

import pytest
from helpers.model_families import FAMILIES, Unavailable

from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.models.chat_formats.template_probe import SYNTAXES, Probe
from handaxe.models.chat_formats.template_rendering import TemplateRendering

pytestmark = pytest.mark.hf
FOUND = {
    # family: (syntax, ends of an answer and of a call, parallel calls)
    "qwen3": (None, "<|im_end|>", "<|im_end|>", True),
    "gptoss": ("harmony", "<|return|>", "<|call|>", False),
    "llama3_1": ("llama", "<|eot_id|>", "<|eot_id|>", False),
    "llama4": ("llama4", "<|eot|>", "<|eot|>", True),
    "gemma3": (None, "<end_of_turn>", "<end_of_turn>", True),
    "deepseek_v3": (
        "deepseek",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        True,
    ),
    "glm4_5": ("glm", "<|user|>", "<|observation|>", True),
    "kimi_k2": ("kimi", "<|im_end|>", "<|im_end|>", True),
    "mistral": ("mistral_v3", "</s>", "</s>", True),
}


@pytest.mark.parametrize("name", FOUND)
def test_probe_finds_syntax_and_ends_of_a_family(name):
    pytest.importorskip("transformers")
    try:
        tokenizer = FAMILIES[name].make()
    except Unavailable as error:
        pytest.skip(str(error))
    probe = Probe(TemplateRendering(tokenizer, SafeEncoder(tokenizer), {}, datetime.date(2031, 1, 1)), None)
    syntax = next((key for key, one in SYNTAXES.items() if one is probe.style.calls), None)
    assert (syntax, probe.ends.last, probe.ends.call, probe.parallel) == FOUND[name]
