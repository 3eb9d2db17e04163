"""Draws proxy and truth of the method `par` over steps and KL, for docs/judges.md and docs/overoptimisation.png.

    for seed in 0 1 2; do for arm in "raw 0" "win_rate 0" "raw 0.1"; do
      set -- $arm
      handaxe train par --shaping $1 --base grpo --base.kl-coefficient $2 --fit-groups 4 --steps 60 --eval-every 0 \\
        --held-out 40 --seed $seed --out runs/curve-4-$1-$2-$seed
    done; done
    python -m bench.overoptimisation runs/curve-4-*

The proxy is the mean score of the reward model that was fitted before training, the truth the share of correct answers
among the same training rollouts, and KL the mean k3 estimate over their tokens to the policy before training. All are
means over ten steps.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord

COLUMNS = {"KL": "loss/kl", "proxy": "learner/reward_model/mean", "truth": "channel/correct"}
"""Metric of a step by its name in the table."""
WINDOW = 10
"""Steps of a row."""
OUT = Path(__file__).parents[1] / "docs" / "overoptimisation.png"


def curves(runs: Sequence[Path]) -> dict[str, np.ndarray]:
    """By reward [R, W, 3]: means of KL, proxy and truth over the windows of each run."""
    found, steps = defaultdict[str, list[np.ndarray]](list), set[int]()
    for folder in runs:
        options = json.loads((folder / "recipe.json").read_text())["recipe"]["arguments"]
        name = options["shaping"] + (", KL penalty" if options["base.kl_coefficient"] else "")
        with RunRecord.open(folder) as record:
            values_S3 = np.array([[row[name] for name in COLUMNS.values()] for row in record.metrics()])
        steps.add(len(values_S3))
        found[name].append(values_S3)
    if len(steps) != 1 or min(steps) % WINDOW:
        raise InputError(f"runs of equal length are compared, in steps of {WINDOW}; these have {sorted(steps)} steps")
    return {name: np.stack(each).reshape(len(each), -1, WINDOW, 3).mean(2) for name, each in sorted(found.items())}


def table(found: Mapping[str, np.ndarray]) -> str:
    """Means over the runs, a row for each window."""
    heads = [f"{column}, {name}" for name in found for column in COLUMNS]
    lines = [f"| steps | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    means = np.concatenate([each.mean(0) for each in found.values()], axis=1)
    for number, row in enumerate(means):
        cells = " | ".join(f"{value:.3f}" for value in row)
        lines.append(f"| {number * WINDOW + 1}-{(number + 1) * WINDOW} | {cells} |")
    return "\n".join(lines)


def draw(found: Mapping[str, np.ndarray], out: Path) -> None:
    """Proxy and truth over steps, and over KL; a line for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row")
    for color, (name, runs) in zip(("tab:red", "tab:green", "tab:blue"), found.items(), strict=False):
        for number, run_W3 in enumerate(runs):
            steps = np.arange(1, len(run_W3) + 1) * WINDOW
            for row, column in enumerate(("proxy", "truth")):
                shown = run_W3[:, list(COLUMNS).index(column)]
                label = name if number == 0 else None
                axes[row, 0].plot(steps, shown, color=color, label=label)
                axes[row, 1].plot(np.sqrt(run_W3[:, 0]), shown, "o-", color=color, markersize=3)
    for row, text in enumerate(("score of the reward model", "share of correct answers")):
        axes[row, 0].set_ylabel(text)
    axes[1, 0].set_xlabel("step")
    axes[1, 1].set_xlabel("square root of KL to the first policy (nats a token)")
    axes[0, 0].legend(title="reward", frameon=False)
    figure.savefig(out, dpi=110)


def main() -> int:
    """Print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    try:
        found = curves(options.runs)
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(found))
    draw(found, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
