"""Whole training steps of handaxe and of TRL, in turn, on the same machine, model, questions and tool waits.

    python bench/sides.py --trl-python bench/.venv-trl/bin/python --model FOLDER --out bench/results/sides.json

Each side is a process of its own that holds the model and takes one step when it is told to: write one JSON line with
the setting, read {"ready": true}, then write "go" and read {"seconds": ...} for every step. The two are told in turn,
so that a machine that drifts drifts for both; the first step of each is not counted.

    bound   what no driver can beat: the same side's step without waits, plus the longest waiting of one rollout
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPLY = "record red green blue north south one two three"
LONG_REPLY = " ".join([REPLY] * 4)


class Side:
    """A process that takes steps when told to. The other side's sleeps meanwhile."""

    def __init__(self, python: str, script: str, setting: dict[str, Any]):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [python, str(HERE / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.name = script
        self.ask(json.dumps(setting))

    def ask(self, line: str) -> dict[str, Any]:
        """Write a line, read the answer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.errors.seek(0)
            raise SystemExit(f"{self.name} died:\n{self.errors.read()[-3000:]}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def waits(kind: str, count: int) -> list[float]:
    """Seconds that each of `count` calls takes: all alike, or lognormal (median 50 ms, the longest cut at 2 s)."""
    if kind == "heavy":
        rng = random.Random(0)
        return [min(2.0, rng.lognormvariate(-3.0, 1.2)) for _ in range(count)]
    return [float(kind.removesuffix("ms")) / 1000] * count


def critical(seconds: list[float], rollouts: int, turns: int) -> float:
    """The longest waiting of one rollout: its calls one after another."""
    return max((sum(seconds[t * rollouts + r] for t in range(turns)) for r in range(rollouts)), default=0.0)


def measure(case: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Both sides on one case, in turn."""
    rollouts, turns, rounds = case["rollouts"], case["turns"], case["rounds"]
    seconds = waits(case["wait"], max(1, rollouts * turns))
    with tempfile.TemporaryDirectory() as folder:
        setting = {
            "model": str(options.model),
            "threads": options.threads,
            "waits": seconds,
            "reply": LONG_REPLY if case.get("long") else REPLY,
            "rollouts": rollouts,
            "turns": turns,
            "group_size": 8,
            "questions": [f"find the record of item {i} and say what it holds" for i in range(rollouts // 8)],
            "max_turn": 64,
            "max_completion": 64 + 160 * (turns + 1),
            "temperature": 0.2,
            "learning_rate": 1e-6,
            "steps": rounds + 1,
            "folder": folder,
        }
        sides = {
            "handaxe": Side(sys.executable, "side_handaxe.py", setting),
            "trl": Side(options.trl_python, "side_trl.py", setting),
        }
        try:
            taken: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
            for _ in range(rounds + 1):
                for name, side in sides.items():
                    taken[name].append(side.ask("go"))
        finally:
            for side in sides.values():
                side.close()
    found = {name: [one["seconds"] for one in steps[1:]] for name, steps in taken.items()}
    last = {name: steps[-1] for name, steps in taken.items()}
    return case | {"waiting": critical(seconds, rollouts, turns), "seconds": found, "last": last}


def cases(quick: bool, long: bool) -> list[dict[str, Any]]:
    """What is measured. The longest ones have fewer rounds, which the table says, or need --long."""
    if quick:
        return [{"bench": "latency", "rollouts": 16, "turns": 1, "wait": w, "rounds": 1} for w in ("0ms", "250ms")] + [
            {"bench": "plain", "rollouts": 16, "turns": 0, "wait": "0ms", "rounds": 1}
        ]
    kinds = ("0ms", "50ms", "250ms", "heavy")
    out = [{"bench": "latency", "rollouts": 16, "turns": 1, "wait": w, "rounds": 5} for w in kinds]
    out += [{"bench": "plain", "rollouts": r, "turns": 0, "wait": "0ms", "rounds": 5} for r in (16, 64)]
    out += [{"bench": "history", "rollouts": 8, "turns": 8, "wait": "0ms", "rounds": 5, "long": True}]
    out += [{"bench": "latency", "rollouts": 16, "turns": 8, "wait": w, "rounds": 3} for w in ("0ms", "250ms", "heavy")]
    out += [{"bench": "latency", "rollouts": 128, "turns": 1, "wait": w, "rounds": 3} for w in ("0ms", "250ms")]
    out += [{"bench": "history", "rollouts": 8, "turns": 32, "wait": "0ms", "rounds": 1, "long": True}]
    if long:
        out += [{"bench": "latency", "rollouts": 16, "turns": 8, "wait": "50ms", "rounds": 5}]
        out += [{"bench": "latency", "rollouts": 128, "turns": 1, "wait": w, "rounds": 5} for w in ("50ms", "heavy")]
        out += [{"bench": "latency", "rollouts": 128, "turns": 8, "wait": w, "rounds": 3} for w in kinds]
    return out


def main() -> None:
    """Measure every case and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", required=True, help="the interpreter of TRL's virtual environment")
    parser.add_argument("--model", type=Path, required=True, help="what bench/model.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="of torch, on each side")
    parser.add_argument("--only", default="", help="latency, history or plain")
    parser.add_argument("--quick", action="store_true", help="a few cases, one round each")
    parser.add_argument("--long", action="store_true", help="also 128 rollouts of 8 turns, and more waits: hours")
    parser.add_argument("--rollouts", type=int, help="only cases of so many rollouts")
    parser.add_argument("--append", action="store_true", help="keep the cases that are in the file")
    options = parser.parse_args()
    found = json.loads(options.out.read_text())["cases"] if options.append else []
    for case in cases(options.quick, options.long):
        if (options.only and case["bench"] != options.only) or options.rollouts not in (None, case["rollouts"]):
            continue
        found.append(measure(case, options))
        medians = {name: statistics.median(values) for name, values in found[-1]["seconds"].items()}
        ratio = medians["trl"] / medians["handaxe"]
        print(f"{case}: handaxe {medians['handaxe']:.2f} s, trl {medians['trl']:.2f} s, {ratio:.1f} x", flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({"threads": options.threads, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
