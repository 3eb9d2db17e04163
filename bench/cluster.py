"""Measures what a rank costs: ClusterEngine beside LocalEngine, the same updates in alternating rounds.

Printed, as one line of JSON, for each size of model: seconds of an update (forward_backward and optim_step) in one
process, on one rank and on two, and seconds to gather all weights into the driver, which a push begins with.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch

from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine_case import example_batch, example_loss

WIDTHS = (64, 256)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--quick", action="store_true", help="one size, two rounds")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    widths, rounds = ((64,), 2) if options.quick else (WIDTHS, options.rounds)
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # of the ranks
    one, two = Ranks(1, device="cpu"), Ranks(2, device="cpu")
    try:
        sizes = [measured(width, rounds, options.rows, one, two) for width in widths]
    finally:
        one.close()
        two.close()
    found = {
        "rounds": rounds,
        "rows": options.rows,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "sizes": sizes,
    }
    print(json.dumps(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def measured(width: int, rounds: int, rows: int, one: Ranks, two: Ranks) -> dict:
    """Seconds of each round by engine, for one size of model."""

    def model() -> TinyModel:
        return TinyModel.new(TinyConfig(width=width, layers=4, heads=4, max_length=64))

    engines = {
        "local": LocalEngine(model()),
        "one_rank": ClusterEngine(model(), trainers=one),
        "two_ranks": ClusterEngine(model(), trainers=two),
    }
    seconds: dict[str, list[float]] = {name: [] for name in (*engines, "gather_one", "gather_two")}
    for count in range(rounds + 1):
        batch = example_batch(model(), rows=rows, seed=count)
        for name, engine in engines.items():
            began = time.perf_counter()
            engine.forward_backward(batch, example_loss)
            engine.optim_step(learning_rate=1e-4)
            if count:  # the first is for warming up
                seconds[name].append(time.perf_counter() - began)
        for name, engine in (("gather_one", engines["one_rank"]), ("gather_two", engines["two_ranks"])):
            began = time.perf_counter()
            list(engine.gather())
            if count:
                seconds[name].append(time.perf_counter() - began)
    for name in ("one_rank", "two_ranks"):
        engines[name].close()
    parameters = sum(p.numel() for p in engines["local"].model.module.parameters())
    return {"parameters": parameters, "seconds": seconds}


if __name__ == "__main__":
    main()
