"""Runs every benchmark, one after another, and writes bench/README.md: what `make bench` does.

    python bench/run.py --trl-python PYTHON --model FOLDER [--quick] [--only sides]

Nothing else should run on the machine meanwhile. A benchmark that fails leaves its last result where it was.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def commands(options: argparse.Namespace) -> dict[str, list[str]]:
    """Name of the result -> what writes it."""
    quick = ["--quick"] if options.quick else []
    sides = ["--trl-python", options.trl_python, "--model", str(options.model)]
    return {
        "driver_overhead": ["driver_overhead.py"],
        "sandbox": ["sandbox.py", *quick],
        "asynchronous": ["asynchronous.py", *quick],
        "packing": ["packing.py", *quick],
        "sides": ["sides.py", *sides, *quick],
    }


def main() -> None:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", required=True, help="the interpreter of TRL's virtual environment")
    parser.add_argument("--model", type=Path, required=True, help="what bench/model.py wrote")
    parser.add_argument("--only", nargs="*", default=[], help="names of results")
    parser.add_argument("--quick", action="store_true", help="small and few: to see that everything runs")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    failed = []
    for name, command in commands(options).items():
        if options.only and name not in options.only:
            continue
        print(f"--- {name}", flush=True)
        begin, out = time.monotonic(), RESULTS / f"{name}.json"
        call = [sys.executable, str(HERE / command[0]), *command[1:]]
        if name == "driver_overhead":  # it prints its result
            done = subprocess.run(call, stdout=subprocess.PIPE, text=True)
            if done.returncode == 0:
                out.write_text(json.dumps(json.loads(done.stdout), indent=1) + "\n")
        else:
            done = subprocess.run([*call, "--out", str(out)])
        failed += [name] if done.returncode else []
        print(f"    {time.monotonic() - begin:.0f} s", flush=True)
    write_machine(options.trl_python)
    subprocess.run([sys.executable, str(HERE / "report.py")], check=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def write_machine(trl_python: str) -> None:
    """What it ran on."""
    ask = "from importlib.metadata import version; print(version('trl'))"
    trl = subprocess.run([trl_python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    facts = {
        "cores": os.cpu_count(),
        "Python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
        "TRL": trl,
        "date": time.strftime("%Y-%m-%d"),
    }
    (RESULTS / "machine.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
