"""Whole steps against TRL: tools that take time, long histories, plain steps."""

import statistics
from typing import Any

import matplotlib.pyplot as plt
from pages.tables import LIMIT, OURS, THEIRS, save, spread, table, verdict

TEXT = """\
One step of GRPO with the same 0.9M-parameter Llama, questions, sampling, learning rate and rows per forward, sampling,
tools and update included: `handaxe.training.loop.train.train` and TRL's `GRPOTrainer(tools=...)`; threads of torch on
each side: {threads}. The policy was trained to make a call at every turn, with a number that it draws, and every
rollout gets an answer of its own: both sides sample and read equally many tokens, and siblings share little but their
prompt. Its turns repeat each other's words, as turns of a policy that calls tools do, and every step asks the same
questions, so that much can be drafted; `LocalEngine` does (docs/driver.md), TRL as it comes does not. What decoding
token by token takes stands beside it in tables 2 and 6.
Group size 8. Command: `make bench BENCH=--long`, or `python bench/sides.py` with the arguments it lists. {pinned}
"""
PINNED = """Cases were
measured two at a time, each with all of its processes held to a core of its own, by
`taskset --cpu-list CORE python bench/sides.py --append`, with `--only`, `--rollouts`, `--turns`, `--waits`, `--rounds`.
"""
WAITS = ["0ms", "50ms", "250ms", "heavy"]
LATENCY_HEAD = ["a call takes", "rollouts", "turns", "rounds", "bound, s", "handaxe, s", "of bound", "TRL, s", "x"]
PLAIN_HEAD = ["rollouts", "turns", "rounds", "handaxe, s", "update of the last step, s"]
PLAIN_HEAD += ["without drafts, s", "TRL, s", "TRL / handaxe"]
BOUND = (
    "the step of handaxe without waits, measured in the same run, plus the longest waiting of one rollout. A step that "
    "computes while others wait can fall below it. "
    "Heavy-tailed waits are lognormal with a median of 50 ms, cut at 2 s; both sides get the same ones."
)


def section(found: dict[str, Any]) -> str:
    """Latency, long histories and plain steps."""
    cases = sorted(found["cases"], key=lambda one: (one["rollouts"], one["turns"], WAITS.index(one["wait"])))
    (threads,) = {one["threads"] for one in cases}
    pinned = any(one["cores"] == 1 for one in cases)
    parts = [TEXT.format(threads=threads, pinned=PINNED if pinned else "")]
    latency = [one for one in cases if one["bench"] == "latency"]
    if latency:
        plot(latency)
        parts.append("### 1. Tools that take time\n\n![seconds of a step](latency.png)\n")
        parts.append(table(LATENCY_HEAD, [latency_row(one, latency) for one in latency]))
        parts.append(latency_goals(latency))
    for bench, title, goal, least in (
        ("history", "2. Long histories, tools that answer at once", "3 x TRL at 8 turns", 3.0),
        ("plain", "6. Plain single-turn GRPO, no tools", "not slower than TRL", 1.0),
    ):
        chosen = [one for one in cases if one["bench"] == bench]
        if chosen:
            parts.append(f"### {title}\n\n" + table(PLAIN_HEAD, [plain_row(one) for one in chosen]))
            judged = [ratio(one) >= least for one in chosen if one["turns"] in (0, 8)]
            parts.append(f"Goal: {goal}: {verdict(*judged)}.\n")
    remarks = [
        f"- {one['rollouts']} rollouts, {one['turns']} turns, {one['wait']}: {one['remark']}\n"
        for one in cases
        if one["remark"]
    ]
    parts += [f"### Remarks\n\n{''.join(remarks)}"] if remarks else []
    return "\n".join(parts)


def median(case: dict[str, Any], side: str) -> float:
    return statistics.median(case["seconds"][side])


def ratio(case: dict[str, Any]) -> float:
    """How many times the seconds of handaxe TRL takes."""
    return median(case, "trl") / median(case, "handaxe")


def bound(case: dict[str, Any], latency: list[dict[str, Any]]) -> float | None:
    """The step without waits plus the longest waiting of one rollout."""
    if "handaxe, no waits" in case["seconds"]:
        return median(case, "handaxe, no waits") + case["waiting"]
    size = (case["rollouts"], case["turns"])
    same = [one for one in latency if one["wait"] == "0ms" and (one["rollouts"], one["turns"]) == size]
    return median(same[0], "handaxe") + case["waiting"] if same else None


def latency_row(case: dict[str, Any], latency: list[dict[str, Any]]) -> list[str]:
    least = bound(case, latency)
    return [
        "heavy-tailed" if case["wait"] == "heavy" else case["wait"].replace("ms", " ms"),
        str(case["rollouts"]),
        str(case["turns"]),
        str(case["rounds"]),
        "-" if least is None else f"{least:.2f}",
        spread(case["seconds"]["handaxe"]),
        "-" if least is None else f"{median(case, 'handaxe') / least:.2f}",
        spread(case["seconds"]["trl"]),
        f"{ratio(case):.1f}",
    ]


def latency_goals(latency: list[dict[str, Any]]) -> str:
    """Within 15 % of the bound; at 250 ms at least 10 times as fast as TRL."""
    bounds = [(median(one, "handaxe"), bound(one, latency)) for one in latency if one["wait"] != "0ms"]
    near = [seconds <= 1.15 * least for seconds, least in bounds if least is not None]
    tenfold = [ratio(one) >= 10 for one in latency if one["wait"] == "250ms"]
    return (
        f"Bound: {BOUND}\n\n"
        f"Goal: within 15 % of the bound: {verdict(*near)} ({sum(near)} of {len(near)} settings). "
        f"Goal: 10 x TRL at 250 ms: {verdict(*tenfold)} ({sum(tenfold)} of {len(tenfold)} settings).\n"
    )


def plain_row(case: dict[str, Any]) -> list[str]:
    seconds = case["seconds"]
    sizes = [str(case["rollouts"]), str(case["turns"]), str(case["rounds"])]
    update = f"{case['last']['handaxe']['seconds/update']:.2f}"
    without = spread(seconds["handaxe, no drafts"]) if "handaxe, no drafts" in seconds else "-"
    return [*sizes, spread(seconds["handaxe"]), update, without, spread(seconds["trl"]), f"{ratio(case):.2f}"]


def plot(latency: list[dict[str, Any]]) -> None:
    """Bars of both sides and a mark at the bound, a panel for each size."""
    sizes = sorted({(one["rollouts"], one["turns"]) for one in latency})
    figure, axes = plt.subplots(1, len(sizes), figsize=(3.2 * len(sizes), 3.2), squeeze=False)
    for axis, size in zip(axes[0], sizes):
        chosen = [one for one in latency if (one["rollouts"], one["turns"]) == size]
        for x, one in enumerate(chosen):
            for offset, side, colour in ((-0.2, "handaxe", OURS), (0.2, "trl", THEIRS)):
                axis.bar(x + offset, median(one, side), 0.38, color=colour)
            least = bound(one, latency)
            if least is not None:
                axis.plot([x - 0.4, x], [least, least], color=LIMIT, linewidth=2)
        axis.set_xticks(range(len(chosen)), [one["wait"].replace("ms", " ms") for one in chosen])
        axis.set_title(f"{size[0]} rollouts, {size[1]} tool turn{'s' if size[1] > 1 else ''}", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("seconds a step")
    marks = [plt.Rectangle((0, 0), 1, 1, color=c) for c in (OURS, THEIRS)] + [plt.Line2D([0], [0], color=LIMIT)]
    figure.legend(marks, ["handaxe", "TRL", "bound"], loc="lower center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(figure, "latency.png")
