"""What a rank costs beside one process."""

from statistics import median
from typing import Any

from pages.tables import spread, table

NAMES = {
    "local": "update, `LocalEngine`",
    "one_rank": "update, one rank",
    "two_ranks": "update, two ranks",
    "gather_one": "gather from one rank",
    "gather_two": "gather from two ranks",
}


def section(found: dict[str, Any]) -> str:
    """Milliseconds by size of model."""
    shared = ": two ranks and their driver have less than one core each" if found["cores"] < 3 else ""
    text = (
        f"Updates of {found['rows']} short rows on the CPU, one thread each, in {found['rounds']} alternating rounds, "
        f"on {found['cores']} cores{shared}. Milliseconds. Command: "
        f"`python bench/cluster.py --rounds {found['rounds']} --rows {found['rows']}`.\n"
    )
    if found["load"] > 2 * found["cores"]:
        text += (
            f"\n**The machine was busy** ({found['load']:.0f} processes wanted its {found['cores']} cores), and a "
            "rank, being a session of its own, then gets a share of its own: no ratio below is one of handaxe.\n"
        )
    sizes = found["sizes"]
    rows = []
    for name, title in NAMES.items():
        rows.append([title, *(spread([1000 * one for one in size["seconds"][name]], 1) for size in sizes)])
    ratios = [median(size["seconds"]["one_rank"]) / median(size["seconds"]["local"]) for size in sizes]
    rows.append(["one rank over `LocalEngine`", *(f"{ratio:.2f}" for ratio in ratios)])
    heads = ["", *(f"{size['parameters'] / 1e6:.2f}M parameters" for size in sizes)]
    fit = "Ranks are for GPUs. With Gloo on a shared CPU, the figures are the cost of calls to ranks.\n"
    return f"{text}\n{table(heads, rows)}\n{fit}"
