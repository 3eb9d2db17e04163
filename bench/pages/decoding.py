"""Sampling with the tiny policy beside a plain loop, torch.compile, and the limits of the processor."""

import statistics
from typing import Any

from pages.tables import spread, table

TEXT = """`LocalEngine.sample` and a plain loop with a cache allocated once (it stands in `bench/decoding.py`) sample
{new} tokens a row with the tiny policy after prompts of equal length that share nothing, in turns. The loop draws with
torch.multinomial; the engine gives every token a uniform number of its own and its log-prob, lets rows join, leave and
end early, and shares prompts where they are equal. Rounds: {rounds}; processes at work on the
machine at the end: {load} (a run beside other work says little about two threads). Command: `python bench/decoding.py`.
"""
HEAD = [
    "rows",
    "prompt",
    "threads",
    "engine, tokens/s",
    "loop, tokens/s",
    "engine / loop",
    "engine / loop, processor time",
]
COMPILED = """The blocks but for their attention, compiled by torch.compile (with this machine's C++ compiler), over the
same without, by processor time on one thread; below 1 is faster. The first call compiles; the last column says how many
calls earn it back. `LocalEngine` compiles nothing.
"""
COMPILED_HEAD = ["", "one call, ms", "compiled / not", "first call, s", "calls to earn it back"]
LIMITS = """Both embedded policies on one thread, by processor time, with the core's copy bandwidth ({bandwidth} GB/s,
read and written) and its matmul peak ({peak} GFLOP/s in float32) measured in turn with them. Decoding: one step of all
rows over a full cache; its share is the bytes of weights, keys and values that it reads, over the bandwidth. Update:
forward and backward, and the share of the peak. A token of `tiny` is a byte, and a token of `small` 2.4 bytes of the
mixture that it was trained on. Processes at work on the machine at the end: {load}. Command:
`python bench/decoding.py --only policies`.
"""
LIMITS_HEAD = ["policy", "context", "rows", "decoded tokens/s", "of the bandwidth", "updated tokens/s", "of the peak"]


def section(found: dict[str, Any]) -> str:
    """Tokens a second of both; then the ratios of compiled parts, and the shares of the processor's limits."""
    return "\n".join(part for part in (_sampling(found), _limits(found)) if part)


def _limits(found: dict[str, Any]) -> str:
    if not (rows := found.get("policies")):
        return ""
    means = {
        name: statistics.median([value for row in rows for value in row[key]]) / 1e9
        for name, key in (("bandwidth", "copy_bandwidth"), ("peak", "matmul_peak"))
    }
    text = LIMITS.format(**{name: f"{value:.0f}" for name, value in means.items()}, load=found["policies_load"])
    lines = [
        [
            f"`{name}`",
            f"{row['context']:,}",
            str(row["rows"]),
            spread(row[f"{name}_decoded"], 0),
            spread(row[f"{name}_bandwidth"]),
            spread(row[f"{name}_updated"], 0),
            spread(row[f"{name}_flops"]),
        ]
        for row in rows
        for name in ("tiny", "small")
    ]
    return f"{text}\n{table(LIMITS_HEAD, lines)}"


def _sampling(found: dict[str, Any]) -> str:
    rows = [
        [
            *(str(one[key]) for key in ("rows", "prompt", "threads")),
            *(spread(one[f"{side}_wall"], 0) for side in ("handaxe", "plain")),
            *(spread(one[f"ratio_{clock}"]) for clock in ("wall", "cpu")),
        ]
        for one in found["sampling"]
    ]
    first = found["sampling"][0]
    facts = {"rounds": len(first["ratio_cpu"]), "load": found.get("load", "not recorded")}
    text = f"{TEXT.format(new=first['new'], **facts)}\n{table(HEAD, rows)}"
    if not found["compiled"]:
        return text
    compiled = [
        [
            one["case"],
            f"{one['plain_s'] * 1e3:.1f}",
            spread(one["ratio_cpu"]),
            f"{one['first_call_s']:.0f}",
            earned_back(one),
        ]
        for one in found["compiled"]
    ]
    return f"{text}\n{COMPILED}\n{table(COMPILED_HEAD, compiled)}"


def earned_back(one: dict[str, Any]) -> str:
    """Calls that save together what the first one took."""
    saved = one["plain_s"] * (1 - statistics.median(one["ratio_cpu"]))
    return f"{one['first_call_s'] / saved:.0f}" if saved > 0 else "never"
