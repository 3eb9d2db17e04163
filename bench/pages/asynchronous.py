"""Ways of scheduling on a simulated clock."""

from typing import Any

from pages.tables import table

TEXT = """\
The real loop, driver and staleness gate; the engine writes texts of drawn lengths, and a simulated clock charges
decoding, tools and training. The papers do not publish distributions: lengths and times are lognormal with parameters
that stand in `bench/asynchronous.py`, so the direction and the factor count, not the seconds. Every line goes on until
as many tokens are trained as in the first. x is trained tokens a second against the first line.
Command: `python bench/asynchronous.py --out bench/results/asynchronous.json`.
"""
HEAD = [
    "from the third line on, each adds to the second",
    "simulated s",
    "tokens",
    "x",
    "oldest token, steps",
]
PUBLISHED = """\
Published, on their own hardware: VerlTool 127 -> 75 s (1.7 x) with 1 turn and 194 -> 94 s (2.1 x) with 3
(assets/docs/asyncRL.md of its repository); AgentMath 4 to 5 x for asynchronous rollouts, partial rollouts and load
balancing together (arXiv:2512.20745, abstract).
"""


def section(found: dict[str, Any]) -> str:
    """What each way of scheduling brings, at equal tokens."""
    parts = [TEXT]
    for name, one in found["workloads"].items():
        first = next(iter(one["ways"].values()))["tokens_per_second"]
        rows = [
            [
                way,
                f"{row['simulated_seconds']:.0f}",
                f"{row['trained_tokens']:.0f}",
                f"{row['tokens_per_second'] / first:.2f}",
                f"{row['staleness_max']:.0f}",
            ]
            for way, row in one["ways"].items()
        ]
        parts.append(f"### {name}\n\n" + table(HEAD, rows))
    parts.append(PUBLISHED)
    return "\n".join(parts)
