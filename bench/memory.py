"""Forecast of `handaxe.doctor.memory` beside the peak of resident memory of SmolLM2-135M, one process a plan (Linux).

    python -m bench.memory
    python -m bench.memory twins       resident memory of engines with separate adapters on one base
    python -m bench.memory ranks       the same on two ranks: weights of a rank

Each process loads the model, samples nothing, and trains two steps on one row. The peak counts from the memory of the
process before the model, so it excludes Python and packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

PLANS = (
    "full float32 1024",
    "full float32 4096",
    "full float32 4096 checkpointing",
    "full bfloat16 1024",
    "lora float32 1024",
    "lora float32 4096",
    "lora bfloat16 1024",
    "lora float32 1024 8bit",
    "full bfloat16 1024 checkpointing",
    "lora bfloat16 1024 checkpointing",
)


def resident(name: str) -> int:
    """Bytes of this process: VmRSS, or VmHWM for the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(words: list[str]) -> None:
    """Train with a plan, and print its forecast and its peak in GiB."""
    import torch

    from handaxe.core.batch import Denominators, LossOut
    from handaxe.doctor.memory import GIB, engine_plan, engine_shape, forecast_memory
    from handaxe.engines.local.engine import LocalEngine
    from handaxe.engines.local.measure_requests import bare_batch
    from handaxe.models.huggingface import smollm2

    torch.set_num_threads(1)
    trained, dtype = words[:2]
    length = int(words[2])
    smollm2()  # dequantizes the weights into the cache of handaxe, once
    before = resident("VmRSS")
    lora = {"r": 16, "lora_alpha": 32} if trained == "lora" else None
    model = smollm2(lora=lora, dtype=dtype, quantize="8bit" if "8bit" in words else None)
    engine = LocalEngine(model, gradient_checkpointing="checkpointing" in words)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    ids_BT = torch.randint(0, model.vocab_size, (1, length), generator=torch.Generator().manual_seed(0))
    mask_BT = torch.ones_like(ids_BT, dtype=torch.bool)
    batch = bare_batch(ids_BT, mask_BT, mask_BT.clone(), torch.ones(1))
    batch = replace(batch, denominators=Denominators(length, 1, 1, 1, 1))
    for _ in range(2):
        engine.forward_backward(batch, lambda out, batch: LossOut(-out.logp_BT.sum() / length, {}))
        engine.optim_step(learning_rate=1e-5)
    peak = (resident("VmHWM") - before) / GIB
    shape = engine_shape(engine)
    assert shape is not None
    plan = engine_plan(engine, tokens=length, rows=1, sampled_rows=0, reference=False)
    found = forecast_memory(shape, plan)._replace(cache=0.0)
    live = found._replace(retained=0.0).peak / GIB
    forecast = found.peak / GIB
    print(f"| {' '.join(words)} | {live:.2f} | {forecast:.2f} | {peak:.2f} | {forecast / peak:.2f} |", flush=True)


def measure_twins(count: int = 3) -> None:
    """Make engines with adapters of rank 8, twins of the first, and print parameters and resident memory in MB."""
    from handaxe.engines.local.engine import LocalEngine
    from handaxe.models.huggingface import smollm2

    engines = [LocalEngine(smollm2(lora={"r": 8}))]
    first = resident("VmRSS")
    print("| engines | parameters, MB | resident above the first, MB |\n|---|---:|---:|")
    while True:
        parameters = [p for engine in engines for p in engine.model.module.parameters()]
        storages = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in parameters}
        found = (sum(storages.values()) / 1e6, (resident("VmRSS") - first) / 1e6)
        print(f"| {len(engines)} | {found[0]:.1f} | {found[1]:.0f} |", flush=True)
        if len(engines) == count:
            return
        engines.append(engines[0].twin())


def measure_ranks(count: int = 3) -> None:
    """Make twins of an engine with an adapter of rank 8 on two ranks, and print the weights of a rank in MB."""
    from handaxe.engines.cluster.engine import ClusterEngine
    from handaxe.models.huggingface import smollm2

    print("| engines | weights of a rank, MB |\n|---|---:|", flush=True)
    with ClusterEngine(partial(smollm2, lora={"r": 8}), trainers=2, device="cpu") as engine:
        for engines in range(1, count + 1):
            print(f"| {engines} | {max(engine.ranks.weight_bytes()) / 1e6:.1f} |", flush=True)
            if engines < count:
                engine.twin()


def main() -> None:
    """Measure every plan in a new process."""
    print(
        "| plan, tokens | live tensors, GiB | forecast, GiB | peak, GiB | forecast / peak |\n|---|---:|---:|---:|---:|",
        flush=True,
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for plan in PLANS:
        subprocess.run([sys.executable, "-m", "bench.memory", *plan.split()], check=True, env=environment)


if __name__ == "__main__":
    if sys.argv[1:] == ["twins"]:
        measure_twins()
    elif sys.argv[1:] == ["ranks"]:
        measure_ranks()
    elif len(sys.argv) > 1:
        measure(sys.argv[1:])
    else:
        main()
