"""Seconds of `handaxe train` on an idle machine and beside busy processes, with short and with libgomp's own spins.

    python -m bench.contention
    python -m bench.contention --rounds 6 --steps 5

Both sides run in turn, as processes of their own. Beside them runs one busy process for every core.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LIBGOMP = "300000"
"""Spins of a waiting thread if neither GOMP_SPINCOUNT nor OMP_WAIT_POLICY is set, from libgomp's manual."""


def seconds(steps: int, spins: str | None) -> float:
    """Seconds of `handaxe train toolrl`; spins: GOMP_SPINCOUNT, or None for the default of the command line."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "GOMP_SPINCOUNT")
    }
    if spins:
        environment["GOMP_SPINCOUNT"] = spins
    words = ["train", "toolrl", "--steps", str(steps), "--held-out", "8"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "handaxe", *words, "--out", f"{folder}/run"],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return time.monotonic() - began


def spread(values: Sequence[float]) -> str:
    """Median with [least, most]."""
    return f"{statistics.median(values):.1f} [{min(values):.1f}, {max(values):.1f}]"


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run processes that compute without end."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    seconds(1, None)  # the caches of files
    print("| busy processes | short spins, s | spins of libgomp, s | libgomp / short |")
    print("| --- | --- | --- | --- |")
    for count in (0, os.cpu_count() or 1):
        pairs = []
        with busy(count):
            for turn in range(options.rounds):
                sides = (None, LIBGOMP) if turn % 2 == 0 else (LIBGOMP, None)
                found = {spins: seconds(options.steps, spins) for spins in sides}
                pairs.append((found[None], found[LIBGOMP]))
        short, long = zip(*pairs, strict=True)
        ratio = statistics.median(long_s / short_s for short_s, long_s in pairs)
        print(f"| {count} | {spread(short)} | {spread(long)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
