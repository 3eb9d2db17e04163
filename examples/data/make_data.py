"""Write the files of docs/data.md: chats.jsonl, photos.csv with its images, units.jsonl, and three shards."""

import json
from pathlib import Path

import numpy as np

from handaxe.core.images import Image


def write(name: str, rows: list[dict]) -> None:
    """Write one object a line."""
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def chat(number: int) -> dict:
    """A conversation with a tool call in its history."""
    function = {"name": "convert", "arguments": json.dumps({"value": number})}
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"What is {number} mm in cm?"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": f"{number / 10:g}"},
            {"role": "assistant", "content": f"{number / 10:g} cm"},
            {"role": "user", "content": f"And {2 * number} mm?"},
        ],
        "answer": 2 * number / 10,
    }


def photos(count: int) -> None:
    """Write images of one colour each, and a table that names them."""
    Path("photos").mkdir(exist_ok=True)
    rows = ["file,question,answer"]
    for number in range(count):
        colour = "red" if number % 2 else "blue"
        pixels = np.full((32, 32, 3), (200 + number, 0, 0) if number % 2 else (0, 0, 200 + number), np.uint8)
        Path(f"photos/{number}.png").write_bytes(Image.of(pixels).data)
        rows.append(f"photos/{number}.png,Which colour?,{colour}")
    Path("photos.csv").write_text("\n".join(rows), encoding="utf-8")


if __name__ == "__main__":
    write("chats.jsonl", [chat(number) for number in range(1, 61)])
    photos(40)
    units = [{"question": f"What is {number} m in cm?", "answer": 100 * number} for number in range(1, 61)]
    write("units.jsonl", [{**row, "weight": 1 + k % 3} for k, row in enumerate(units)])
    for shard in range(3):
        prompts = [{"prompt": f"{shard} plus {k}?", "label": {"value": shard + k}} for k in range(200)]
        write(f"shards/part-{shard}.jsonl", prompts)
