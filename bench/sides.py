"""Whole training steps of handaxe and of TRL, in turn, on the same machine, model, questions and tool waits.

    python bench/sides.py --trl-python bench/.venv-trl/bin/python --model FOLDER --out bench/results/sides.json

Each side is a process of its own that holds the model and takes one step when it is told to: write one JSON line with
the setting, read {"ready": true}, then write "go" and read {"seconds": ...} for every step. They are told in turn,
so that a machine that drifts drifts for all; the first step of each is not counted. Two of these may run at a time,
each held to a core (`taskset --cpu-list 0`) and with --append and the same --out: the result says so.

In the two tables without waits a third process takes the steps of handaxe that decodes token by token. Where tools
wait, a third process takes the steps of handaxe without waits: with the longest waiting of one rollout,
which is written down too, they give the bound: what a step takes in which no rollout waits for another one's tool, and
nothing is computed meanwhile.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORDS = "red green blue north south one two three".split()


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


def replies(rollouts: int, repeats: int) -> list[str]:
    """What the tool answers to each rollout: the same words in an order of its own, so that siblings share their
    prompt and, from the first answer on, nothing more."""
    rng, out = random.Random(1), list[str]()
    while len(out) < rollouts:
        text = " ".join(["record", *rng.sample(WORDS, len(WORDS))] * repeats)
        out += [text] if text not in out else []
    return out


def critical(seconds: list[float], rollouts: int, turns: int) -> float:
    """The longest waiting of one rollout: its calls one after another."""
    return max((sum(seconds[t * rollouts + r] for t in range(turns)) for r in range(rollouts)), default=0.0)


def measure(case: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Both sides on one case, in turn. Raises ValueError when they did not do the same work."""
    rollouts = case["rollouts"]
    turns = case["turns"]
    rounds = case["rounds"]
    seconds = waits(case["wait"], max(1, rollouts * turns))
    with tempfile.TemporaryDirectory() as folder:
        setting = {
            "model": str(options.model),
            "threads": options.threads,
            "waits": seconds,
            "replies": replies(rollouts, 4 if case["bench"] == "history" else 1),
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
        sides: dict[str, Side] = {}
        taken: dict[str, list[dict[str, float]]] = {}
        try:
            sides["handaxe"] = Side(sys.executable, "side_handaxe.py", setting)
            sides["trl"] = Side(options.trl_python, "side_trl.py", setting)
            if any(seconds):
                sides["handaxe, no waits"] = Side(sys.executable, "side_handaxe.py", setting | {"waits": [0.0]})
            elif case["bench"] != "latency":
                sides["handaxe, no drafts"] = Side(sys.executable, "side_handaxe.py", setting | {"draft_tokens": 0})
            for _ in range(rounds + 1):
                for name, side in sides.items():
                    taken.setdefault(name, []).append(side.ask("go"))
        finally:
            for side in sides.values():
                side.close()
    calls = {name: {int(one["calls"]) for one in steps} for name, steps in taken.items()}
    if any(made != {rollouts * turns} for made in calls.values()):
        raise ValueError(f"not every side made {rollouts * turns} calls in every step: {calls}")
    found = {name: [one["seconds"] for one in steps[1:]] for name, steps in taken.items()}
    last = {name: steps[-1] for name, steps in taken.items()}
    facts = {"threads": options.threads, "cores": len(os.sched_getaffinity(0)), "remark": options.remark}
    return case | facts | {"waiting": critical(seconds, rollouts, turns), "seconds": found, "last": last}


def cases(quick: bool, long: bool) -> list[dict[str, Any]]:
    """What is measured. The longest ones need --long as well."""
    rounds = 1 if quick else 5

    def latency(rollouts: int, turns: int, *kinds: str) -> list[dict[str, Any]]:
        return [{"bench": "latency", "rollouts": rollouts, "turns": turns, "wait": w, "rounds": rounds} for w in kinds]

    def at_once(bench: str, rollouts: int, turns: int) -> dict[str, Any]:
        return {"bench": bench, "rollouts": rollouts, "turns": turns, "wait": "0ms", "rounds": rounds}

    if quick:
        return [*latency(16, 1, "0ms", "250ms"), at_once("history", 8, 2), at_once("plain", 16, 0)]
    kinds = ("0ms", "50ms", "250ms", "heavy")
    out = [*latency(16, 1, *kinds), *latency(16, 8, *kinds), *latency(128, 1, *kinds)]
    out += [at_once("history", 8, 8), at_once("history", 8, 32), at_once("plain", 16, 0), at_once("plain", 64, 0)]
    return out + (latency(128, 8, *kinds) if long else [])


def keep(out: Path, case: dict[str, Any], *, onto: bool) -> None:
    """Write a case into the file: in place of what stands there of it, or without `onto` of everything."""
    found = json.loads(out.read_text())["cases"] if onto and out.exists() else []
    others = [one for one in found if any(one[key] != case[key] for key in ("bench", "rollouts", "turns", "wait"))]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"cases": [*others, case]}, indent=1) + "\n")


def main() -> None:
    """Measure every case and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", required=True, help="the interpreter of TRL's virtual environment")
    parser.add_argument("--model", type=Path, required=True, help="what bench/model.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="of torch, on each side")
    parser.add_argument("--quick", action="store_true", help="a few cases, one round each")
    parser.add_argument("--long", action="store_true", help="also 128 rollouts of 8 turns: an hour and a half or more")
    parser.add_argument("--only", nargs="+", choices=("latency", "history", "plain"), help="only these")
    parser.add_argument("--rollouts", type=int, nargs="+", help="only cases of so many rollouts")
    parser.add_argument("--turns", type=int, nargs="+", help="only cases of so many tool turns")
    parser.add_argument("--waits", nargs="+", choices=("0ms", "50ms", "250ms", "heavy"), help="only these")
    parser.add_argument("--rounds", type=int, help="steps of each side that count, instead of what is usual")
    parser.add_argument("--remark", default="", help="what to know of this measurement; the page shows it")
    parser.add_argument("--append", action="store_true", help="keep the cases in the file; those measured are replaced")
    options = parser.parse_args()
    wanted = {"bench": options.only, "rollouts": options.rollouts, "turns": options.turns, "wait": options.waits}
    failed, onto = list[str](), options.append
    for case in cases(options.quick, options.long):
        if any(values is not None and case[key] not in values for key, values in wanted.items()):
            continue
        try:
            measured = measure(case | {"rounds": options.rounds or case["rounds"]}, options)
        except ValueError as error:
            failed.append(f"{case} is left out: {error}")
            print(failed[-1], flush=True)
            continue
        keep(options.out, measured, onto=onto)
        onto = True
        medians = {name: statistics.median(values) for name, values in measured["seconds"].items()}
        shown = ", ".join(f"{name} {value:.2f} s" for name, value in medians.items())
        print(f"{case}: {shown}; {medians['trl'] / medians['handaxe']:.1f} x", flush=True)
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
