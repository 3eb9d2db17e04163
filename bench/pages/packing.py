"""Tree packing against plain rows, and the memory of logits."""

from typing import Any

import matplotlib.pyplot as plt
from pages.tables import LIMIT, OURS, save, table, verdict

TEXT = """\
Forward and backward of one group, in turn in one process, {threads} thread, {repeats} repeats: every distinct prefix
once (tree) against every sibling whole (rows), and the same trees with one dense mask in the place of attention by
block (dense). Seconds of processor time, which other work on the machine disturbs less, medians with [least, most]; one
ratio is that of the seconds on the wall. The gradients are the same: the
table gives the greatest difference of an entry, as a share of the greatest entry.
Command: `python bench/packing.py --repeats {repeats} --out bench/results/packing.json`.
"""
HEAD = [
    "model", "prompt, tokens", "siblings", "sampled, tokens", "rows, s", "tree, s", "rows / tree", "on the wall",
    "dense / tree", "tokens computed", "gradients apart",
]  # fmt: skip
MODELS = {"tiny": ("0.9M", "the tiny decoder"), "smollm2_shape": ("135M", "the shape of SmolLM2, random weights")}
MEMORY = """\
### Memory of logits, {tokens} tokens, vocabulary of {vocabulary:,}

How much the log-probs of {tokens} tokens and their gradients add to the greatest memory that a new process needed: all
logits at once, or a part of the vocabulary at a time. MB are 10^6 bytes, medians with [least, most] of {repeats}
processes each, in turn. A trained output layer has a gradient of {gradient:.0f} MB of its own, in chunks or not.
"""
MEMORY_HEAD = ["output layer", "at once, MB", "in chunks, MB", "less", "largest tensor, less"]


def section(found: dict[str, Any]) -> str:
    """Seconds of a step, the curve, and memory."""
    goals = found["goals"]
    parts = [TEXT.format(**found)]
    rows, judged = [], []
    for name, (size, what) in MODELS.items():
        if name in found:
            one = found[name]
            rows.append(row(f"{size}, {what}", one))
            judged.append(f"at {size} {verdict(one['speedup'] >= goals['speed'])} ({one['speedup']:.2f} x)")
        else:
            judged.append(f"at {size} not measured")
    parts += [table(HEAD, rows), f"Goal: {goals['speed']:.0f} x: {', '.join(judged)}.\n"]
    if "curve" in found:
        plot(found["curve"])
        parts.append("![speed-up over prompt length and group size](packing.png)\n")
        parts.append(table(HEAD, [row("0.9M", one) for one in found["curve"]]))
    if "memory" in found:
        parts.append(memory(found["memory"], goals["memory"], found["repeats"]))
    return "\n".join(parts)


def row(name: str, one: dict[str, Any]) -> list[str]:
    computed = f"{one['rows']['tokens_computed']} -> {one['tree']['tokens_computed']}"
    return [
        name,
        *(str(one[key]) for key in ("prompt", "group", "sampled")),
        *(given(one[way]["cpu"], 3) for way in ("rows", "tree")),
        f"{one['speedup']:.2f}",
        f"{one['speedup_wall']:.2f}",
        f"{one['dense_over_tree']:.2f}",
        computed,
        f"{one['gradient_gap']:.0e}",
    ]


def given(values: dict[str, float], digits: int, unit: float = 1.0) -> str:
    """median [least, most] of what the bench has summed up."""
    middle, low, high = (f"{values[key] / unit:.{digits}f}" for key in ("median", "low", "high"))
    return f"{middle} [{low}, {high}]"


def memory(cases: list[dict[str, Any]], goal: float, repeats: int) -> str:
    """With the output layer frozen and trained."""
    rows, judged = [], []
    for one in cases:
        head, peak = "trained" if one["head_trains"] else "frozen", one["peak_rise_bytes"]
        ways = [given(peak[way], 0, 1e6) for way in ("plain", "chunked")]
        rows.append([head, *ways, f"{peak['less']:.1f}", f"{one['largest_tensor_bytes']['less']:.1f}"])
        judged.append(f"with the output layer {head} {verdict(peak['less'] >= goal)} ({peak['less']:.1f} x)")
    gradient = max(one["head_gradient_bytes"] for one in cases) / 1e6
    text = MEMORY.format(repeats=repeats, gradient=gradient, **{k: cases[0][k] for k in ("tokens", "vocabulary")})
    return f"{text}\n{table(MEMORY_HEAD, rows)}\nGoal: {goal:.0f} x less: {', '.join(judged)}.\n"


def plot(curve: list[dict[str, Any]]) -> None:
    """Speed-up over prompt length and over group size."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8))
    for axis, key, fixed, label in (
        (axes[0], "prompt", ("group", 8), "prompt, tokens (8 siblings)"),
        (axes[1], "group", ("prompt", 512), "siblings (prompt 512)"),
    ):
        chosen = sorted((one for one in curve if one[fixed[0]] == fixed[1]), key=lambda one: one[key])
        axis.plot([one[key] for one in chosen], [one["speedup"] for one in chosen], "o-", color=OURS)
        axis.axhline(1, color=LIMIT, linewidth=1)
        axis.set_xscale("log", base=2)
        axis.set_xticks([one[key] for one in chosen], [str(one[key]) for one in chosen])
        axis.set_xlabel(label)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("times as fast as rows")
    figure.tight_layout()
    save(figure, "packing.png")
