"""README.md of an export: training, tools, and usage of the policy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["CardFacts", "model_card"]


class CardFacts(NamedTuple):
    """Content of a model card.

    about: facts of the training, by name.
    system: system message of all conversations of the training.
    tools: in the notation of chat completions.
    own_code: loading runs code of the folder.
    base: base model of an adapter, "" for whole weights.
    parses_calls: the tokenizer has a `response_template`.
    leaky: names of control tokens that text can still produce.
    images: images of a conversation that has the ids of training, "one" or "several"; "" without vision.
    """

    about: Mapping[str, str]
    system: str
    tools: Sequence[Mapping[str, Any]]
    own_code: bool
    base: str
    parses_calls: bool
    leaky: Sequence[str]
    images: str = ""


def model_card(facts: CardFacts) -> str:
    """Write the page. Names and descriptions of tools are data and cannot end their block."""
    task = "image-text-to-text" if facts.images else "text-generation"
    parts = [
        FRONT.format(task=task),
        "# A policy that calls tools\n",
        TRAINED.format(rows=_rows(facts.about)),
        _tools(facts.tools),
    ]
    parts += [SYSTEM.format(block=_block(facts.system))] if facts.system else []
    parts.append(_calling(facts))
    parts += [IMAGES, ONE_IMAGE][: {"several": 1, "one": 2}.get(facts.images, 0)]
    if facts.leaky:
        parts.append(LEAKY.format(names=_block(list(facts.leaky))))
    return "\n".join(parts)


FRONT = """---
library_name: transformers
pipeline_tag: {task}
tags: [handaxe, tool-calling, reinforcement-learning]
---
"""
TRAINED = """Trained with [handaxe](https://pypi.org/project/handaxe/) and exported with `handaxe export`.

{rows}

The chat template of this folder gives the ids that the policy was trained on, for tools, calls, results and thoughts
over any number of turns. Template and tools are part of the policy. `generation_config.json` ends turns as in training
and samples at temperature 1; for greedy decoding set `do_sample=False`.
"""
TOOLS = """## Tools

The policy was trained with these tools, in this order, in its prompt: offer the same tools. `tools.json` contains them.

{block}
"""
SYSTEM = """## System message

Every conversation of the training started with this system message:

{block}
"""
NO_TOOLS = "## Tools\n\nThe policy was trained without tools.\n"
CALL = """## In transformers

```python
{code}
```

Pass the arguments of earlier calls as objects, not as JSON text, and the result of a tool as a message
`{{"role": "tool", "tool_call_id": ..., "content": ...}}` after the message with the call.

## Behind a server

`handaxe serve --model FOLDER` answers chat completions with the ids of training, even after turns that a template would
render with other ids. `transformers serve FOLDER{trust}` works as well. {reads}
"""
CODE = """import json
{imports}

folder = "."  # this folder
tokenizer = AutoTokenizer.from_pretrained(folder{trust})
{load}
tools = json.load(open(f"{{folder}}/tools.json")) or None
messages = [{system}{{"role": "user", "content": "12*34=?"}}]
inputs = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_tensors="pt")
made = model.generate(**inputs, max_new_tokens=64, do_sample=False)[0, inputs["input_ids"].shape[1] :]
print(tokenizer.decode(made))"""
VISION_CODE = """import json
{imports}

folder = "."  # this folder
processor = AutoProcessor.from_pretrained(folder)
processor.image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil")  # as in training
{load}
tools = json.load(open(f"{{folder}}/tools.json")) or None
content = [{{"type": "image", "path": "question.png"}}, {{"type": "text", "text": "What is shown?"}}]
messages = [{system}{{"role": "user", "content": content}}]
inputs = processor.apply_chat_template(
    messages, tools=tools, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
).to(dtype=model.dtype)
made = model.generate(**inputs, max_new_tokens=64, do_sample=False)[0, inputs["input_ids"].shape[1] :]
print(processor.decode(made))"""
IMAGES = """## Images

An image of a message has the tokens of training: its number of tokens depends on the image alone. Training resized
images with Pillow; with torchvision, transformers resizes with torchvision, and pixels differ, unless the image
processor is loaded with `backend="pil"` as above. `AutoProcessor` needs torchvision for families that also read videos.
"""
ONE_IMAGE = """The processor of this family makes fewer tokens of an image if a conversation has a second one, which
training does not: the ids are those of training for conversations with one image. `handaxe serve` has the ids of
training for any number.
"""
PARSES_CALLS = "It parses calls by the `response_template` in the tokenizer's configuration."
NO_PARSING = "It returns calls as text, because a `response_template` cannot describe the calls of these tools."
LEAKY = """## Control tokens in text

In text of users and tools these names become control tokens, or get other ids than in training, because the vocabulary
has them as one token or the template handles them. Remove them from text before passing it on.

{names}
"""


def _rows(about: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: `{_line(value)}`" for name, value in about.items() if value) or "- made by a script"


def _tools(tools: Sequence[Mapping[str, Any]]) -> str:
    return TOOLS.format(block=_block(list(tools))) if tools else NO_TOOLS


def _calling(facts: CardFacts) -> str:
    kind = "AutoModelForImageTextToText" if facts.images else "AutoModelForCausalLM"
    readers = "AutoImageProcessor, {}, AutoProcessor" if facts.images else "{}, AutoTokenizer"
    imports = f"from transformers import {readers.format(kind)}"
    trust = ", trust_remote_code=True" if facts.own_code else ""
    load = f"model = {kind}.from_pretrained(folder{trust})"
    if facts.base:
        imports = f"from peft import PeftModel\n{imports}"
        base = f"{kind}.from_pretrained({json.dumps(facts.base)})"
        load = f"model = PeftModel.from_pretrained({base}, folder)"
    system = json.dumps({"role": "system", "content": facts.system}) + ", " if facts.system else ""
    code = (VISION_CODE if facts.images else CODE).format(imports=imports, load=load, trust=trust, system=system)
    reads = PARSES_CALLS if facts.parses_calls else NO_PARSING
    return CALL.format(code=code, trust=" --trust-remote-code" if facts.own_code else "", reads=reads)


def _block(value: Any) -> str:
    """JSON in a code fence that the JSON cannot close."""
    text = json.dumps(value, indent=2)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}json\n{text}\n{fence}"


def _line(value: str) -> str:
    return " ".join(str(value).replace("`", "'").split())
