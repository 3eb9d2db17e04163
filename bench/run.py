"""Runs every benchmark, one after another, and writes bench/README.md: what `make bench` does.

    python bench/run.py --trl-python PYTHON --model FOLDER [--quick] [--long] [--only sides packing]

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

from pages.tables import FOLDER
from report import BENCHES, RESULTS, Bench


def main() -> None:
    """Run them, the shortest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", required=True, help="the interpreter of TRL's virtual environment")
    parser.add_argument("--model", type=Path, required=True, help="what bench/model.py wrote")
    parser.add_argument("--only", nargs="+", choices=[bench.name for bench in BENCHES], help="only these")
    parser.add_argument("--quick", action="store_true", help="small and few: to see that everything runs")
    parser.add_argument("--long", action="store_true", help="also 128 rollouts of 8 turns beside TRL: over an hour")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    failed = []
    for bench in reversed(BENCHES):
        if bench.here if options.only is None else bench.name in options.only:
            print(f"--- {bench.name}", flush=True)
            begin = time.monotonic()
            failed += [bench.name] if subprocess.run(command(bench, options)).returncode else []
            print(f"    {time.monotonic() - begin:.0f} s", flush=True)
    write_machine(options.trl_python)
    subprocess.run([sys.executable, str(FOLDER / "report.py")], check=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def command(bench: Bench, options: argparse.Namespace) -> list[str]:
    """Its script with those of our options that it takes, writing into its result."""
    words = [sys.executable, str(FOLDER / f"{bench.name}.py"), "--out", str(RESULTS / f"{bench.name}.json")]
    for name in bench.options:
        value, flag = getattr(options, name), "--" + name.replace("_", "-")
        if value is not False:
            words += [flag] if value is True else [flag, str(value)]
    return words


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
