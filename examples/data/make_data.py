"""Write the files of docs/data.md: chats.jsonl, units.jsonl, and three shards."""

import json
from pathlib import Path


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


if __name__ == "__main__":
    write("chats.jsonl", [chat(number) for number in range(1, 61)])
    units = [{"question": f"What is {number} m in cm?", "answer": 100 * number} for number in range(1, 61)]
    write("units.jsonl", [{**row, "weight": 1 + k % 3} for k, row in enumerate(units)])
    for shard in range(3):
        prompts = [{"prompt": f"{shard} plus {k}?", "label": {"value": shard + k}} for k in range(200)]
        write(f"shards/part-{shard}.jsonl", prompts)
