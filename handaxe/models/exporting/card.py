"""The README.md of an export: where the policy comes from, its tools, and how to call it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Facts", "card"]


class Facts(NamedTuple):
    """What a card tells: of the training, by name; the message of the system that began every conversation; the tools
    as chat completions write them; whether loading runs the model's own code; the base of an adapter, "" where the
    weights are whole; whether a server can be told how calls look; names of control tokens that text can still make."""

    about: Mapping[str, str]
    system: str
    tools: Sequence[Mapping[str, Any]]
    own_code: bool
    base: str
    reads_calls: bool
    leaky: Sequence[str]


def card(facts: Facts) -> str:
    """The whole page. Names and descriptions of tools are data: they can end neither their block nor the page."""
    parts = [FRONT, "# A policy that calls tools\n", TRAINED.format(rows=_rows(facts.about)), _tools(facts.tools)]
    parts += [SYSTEM.format(block=_block(facts.system))] if facts.system else []
    parts.append(_calling(facts))
    if facts.leaky:
        parts.append(LEAKY.format(names=_block(list(facts.leaky))))
    return "\n".join(parts)


FRONT = """---
library_name: transformers
pipeline_tag: text-generation
tags: [handaxe, tool-calling, reinforcement-learning]
---
"""
TRAINED = """Trained with [handaxe](https://pypi.org/project/handaxe/) and exported with `handaxe export`.

{rows}

The chat template of this folder gives exactly the ids that the policy was trained on: tools, calls, replies and
thoughts over any number of turns. It is part of the policy, and so are the tools. `generation_config.json` ends a turn
where it ended in training, and samples at temperature 1; greedy decoding is `do_sample=False`.
"""
TOOLS = """## Tools

It was trained with these, in this order, and they stand in its prompt: offer the same. They are in `tools.json` too.

{block}
"""
SYSTEM = """## System message

Every conversation of the training began with a message of the system:

{block}
"""
NO_TOOLS = "## Tools\n\nIt was trained without tools.\n"
CALL = """## In transformers

```python
{code}
```

Give the arguments of earlier calls as objects, not as JSON text, and the reply of a tool as a message
`{{"role": "tool", "tool_call_id": ..., "content": ...}}` after the message with its call.

## Behind a server

`handaxe serve --model FOLDER` answers chat completions with exactly these ids, also after turns that no template would
have written so. `transformers serve FOLDER{trust}` works too. {reads}
"""
CODE = """import json
{imports}

folder = "."  # this one
tokenizer = AutoTokenizer.from_pretrained(folder{trust})
{load}
tools = json.load(open(f"{{folder}}/tools.json")) or None
messages = [{system}{{"role": "user", "content": "12*34=?"}}]
inputs = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_tensors="pt")
made = model.generate(**inputs, max_new_tokens=64, do_sample=False)[0, inputs["input_ids"].shape[1] :]
print(tokenizer.decode(made))"""
READS = "`response_template` in the tokenizer's configuration says how it reads calls."
READS_NOT = "It returns calls as text: a `response_template` cannot say how calls of these tools look."
LEAKY = """## What text can do

In the words of users and tools these names still become control tokens, or get other ids than in training, since the
vocabulary spells them in one piece or the template handles them itself. Take them out before you pass text on.

{names}
"""


def _rows(about: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: `{_line(value)}`" for name, value in about.items() if value) or "- made by a script"


def _tools(tools: Sequence[Mapping[str, Any]]) -> str:
    return TOOLS.format(block=_block(list(tools))) if tools else NO_TOOLS


def _calling(facts: Facts) -> str:
    imports = "from transformers import AutoModelForCausalLM, AutoTokenizer"
    trust = ", trust_remote_code=True" if facts.own_code else ""
    load = f"model = AutoModelForCausalLM.from_pretrained(folder{trust})"
    if facts.base:
        imports = f"from peft import PeftModel\n{imports}"
        base = f"AutoModelForCausalLM.from_pretrained({json.dumps(facts.base)})"
        load = f"model = PeftModel.from_pretrained({base}, folder)"
    system = json.dumps({"role": "system", "content": facts.system}) + ", " if facts.system else ""
    code = CODE.format(imports=imports, load=load, trust=trust, system=system)
    reads = READS if facts.reads_calls else READS_NOT
    return CALL.format(code=code, trust=" --trust-remote-code" if facts.own_code else "", reads=reads)


def _block(value: Any) -> str:
    """JSON in a fence that it cannot close."""
    text = json.dumps(value, indent=2)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}json\n{text}\n{fence}"


def _line(value: str) -> str:
    return " ".join(str(value).replace("`", "'").split())
