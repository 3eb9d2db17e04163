"""Table of forecasts: peak memory by model size, precision, trained weights and context length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handaxe.doctor.memory import GIB, MemoryPlan, ModelShape, forecast_memory

__all__ = ["CONTEXTS", "PRECISIONS", "SHAPES", "fits_rows", "fits_table"]

SHAPES = (
    ModelShape("0.1B", 30, 576, 1536, 9, 3, 64, 49152),
    ModelShape("0.5B", 24, 896, 4864, 14, 2, 64, 151936),
    ModelShape("1.5B", 28, 1536, 8960, 12, 2, 128, 151936),
    ModelShape("3B", 36, 2048, 11008, 16, 2, 128, 151936),
    ModelShape("8B", 32, 4096, 14336, 32, 8, 128, 128256, tied=False),
)
"""Sizes of SmolLM2-135M, Qwen2.5-0.5B, -1.5B and -3B, and Llama-3.1-8B."""
PRECISIONS = (
    ("full", MemoryPlan("float32")),
    ("full", MemoryPlan("bfloat16")),
    ("LoRA 16", MemoryPlan("float32", lora=16)),
    ("LoRA 16", MemoryPlan("bfloat16", lora=16)),
    ("LoRA 16, 8bit", MemoryPlan("bfloat16", lora=16, quantize="8bit")),
    ("LoRA 16, 4bit", MemoryPlan("bfloat16", lora=16, quantize="4bit")),
)
"""Name and plan of each row of a model."""
CONTEXTS = (2048, 8192, 32768)


def fits_rows(contexts: Sequence[int] = CONTEXTS) -> Iterator[tuple[str, str, str, list[tuple[float, float]]]]:
    """Yield model, trained weights, dtype, and for each context the peak in GiB: without and with gradient
    checkpointing."""
    for shape in SHAPES:
        for name, plan in PRECISIONS:
            peaks = []
            for tokens in contexts:
                plans = [_with(plan, tokens, checkpointing) for checkpointing in (False, True)]
                plain, recomputed = (forecast_memory(shape, one).peak / GIB for one in plans)
                peaks.append((plain, recomputed))
            yield shape.name, name, plan.dtype, peaks


def fits_table(contexts: Sequence[int] = CONTEXTS) -> str:
    """Return the table in Markdown."""
    heads = [f"{tokens:,} tokens" for tokens in contexts]
    lines = [f"| model | trained | dtype | {' | '.join(heads)} |", f"|---|---|---|{'---:|' * len(heads)}"]
    for model, trained, dtype, peaks in fits_rows(contexts):
        cells = [f"{_shown(plain)} / {_shown(recomputed)}" for plain, recomputed in peaks]
        lines.append(f"| {model} | {trained} | {dtype} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _with(plan: MemoryPlan, tokens: int, checkpointing: bool) -> MemoryPlan:
    return MemoryPlan(plan.dtype, plan.lora, plan.quantize, tokens=tokens, checkpointing=checkpointing)


def _shown(gib: float) -> str:
    return f"{gib:.1f}" if gib < 10 else f"{gib:.0f}"
