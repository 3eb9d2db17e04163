"""DLLM Agent (arXiv:2602.07451): compare masked-diffusion and autoregressive policies on the same demonstrations."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Task
from handaxe.core.requests import Completion, Sample
from handaxe.methods.lookup import find
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import END
from handaxe.ops.stats import interval_figures
from handaxe.papers.dllm_agent.span_mask import naive_mask, span_mask
from handaxe.papers.dllm_agent.span_rows import action_spans, span_row
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.world import Split, World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    import handaxe.models.tiny as tiny
    import handaxe.papers.dllm_agent.denoiser as denoising
    import handaxe.papers.dllm_agent.fit_policies as fitting
    import handaxe.papers.dllm_agent.likelihood_bound as bounds
    import handaxe.papers.dllm_agent.play_policies as playing
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")
    tiny = DeferredModule("handaxe.models.tiny")
    denoising = DeferredModule("handaxe.papers.dllm_agent.denoiser")
    fitting = DeferredModule("handaxe.papers.dllm_agent.fit_policies")
    bounds = DeferredModule("handaxe.papers.dllm_agent.likelihood_bound")
    playing = DeferredModule("handaxe.papers.dllm_agent.play_policies")

__all__ = ["dllm_agent"]

MASKS = {"aligned": span_mask, "naive": naive_mask}
LONGEST = 4
"""Turns of a rollout, one more than in the longest demonstration."""
ENUMERATED = 3
"""Tokens of the answer whose bound is enumerated."""
Figures = Mapping[str, np.ndarray]


def dllm_agent(
    *,
    demos: int = 400,
    steps: int = 300,
    batch_size: int = 4,
    rate: float = 2e-3,
    size: int = 12,
    tasks: int = 60,
    threshold: float = 0.9,
    draws: int = 1000,
) -> StudyFunction:
    """Train three policies of equal size on the same demonstrations of `stepwise_sums` and play held-out tasks.

    Questions need one call, and half of the demonstrations repeat the call. The policies: `autoregressive`; `aligned`,
    masked diffusion with span-aware attention; `naive`, with attention to all tokens of the conversation. All start
    from the packaged autoregressive policy.

    Figures:
        POLICY/pass@1, /turns, /calls, /repeats, /forwards    means over tasks; forward passes of a rollout
        POLICY/malformed        malformed share of calls
        gain/POLICY             pass@1 of aligned less that of the policy; /low and /high, a 95 % interval over tasks
        solved                  share of tasks that aligned and autoregressive both solve; for these:
        both/forwards           forward passes of aligned, as a share of those of autoregressive; 1 without such tasks
        both/turns              turns of aligned less those of autoregressive; 0 without such tasks
        excess/malformed        malformed share of aligned less that of autoregressive
        bound/exact, bound/sampled, bound/error    of three tokens of an answer by aligned: enumeration, mean of the
                                draws, relative difference

    Args:
        demos: conversations.
        steps: optimizer steps of each policy.
        batch_size: conversations of a step.
        rate: peak learning rate.
        size: tokens of a block.
        tasks: held-out.
        threshold: least confidence of an unmasked token.
        draws: of the sampled bound.
    """

    def measure(seed: int) -> dict[str, float]:
        world = find("worlds", "stepwise_sums")()
        train = _one_call(world, "train", demos, seed)
        played = demonstrations(world, world.env(world.tools), train, count=demos, seed=seed)
        rows = [one.sequences[0] for one in played]
        data = [fitting.SpannedIds(row.ids.astype(np.int64), action_spans(row.mask)) for row in rows]
        settings = fitting.Fitting(steps, batch_size, rate, seed)
        held_out = _one_call(world, "test", tasks, seed)
        model = _packaged()
        fitting.fit_autoregressive(model, data, settings, pad=END)
        engine = local.LocalEngine(model)
        found = {"autoregressive": play(lambda request: engine.sample([request])[0], world, held_out)}
        figures = dict[str, float]()
        for name, mask in MASKS.items():
            denoiser = denoising.Denoiser(_packaged().module)
            fitting.fit_denoiser(denoiser, data, settings, size=size, pad=END, mask=mask)
            turns = playing.UnmaskedTurns(denoiser, size=size, threshold=threshold, aligned=mask is span_mask)
            found[name] = play(turns, world, held_out)
            if mask is span_mask:
                figures = _bounds(denoiser, data[0], draws, seed)
        return figures | _summaries(found) | _comparisons(found)

    def play(turn: Callable[[Sample], Completion], world: World, held_out: Sequence[Task]) -> Figures:
        return playing.play_policy(turn, world, held_out, max_turns=LONGEST, max_tokens=4 * size)

    return measure


def _packaged() -> "tiny.TinyModel":
    """Load the packaged policy."""
    model = loading.load(loading.TINY).model
    assert isinstance(model, tiny.TinyModel)
    return model


def _one_call(world: World, split: Split, count: int, seed: int) -> list[Task]:
    """First tasks that need one call, a third of all."""
    drawn = world.tasks(split, 6 * count + 12, seed)
    return [task for task in drawn if task.metadata["steps"] == "1"][:count]


def _bounds(denoiser: "denoising.Denoiser", one: "fitting.SpannedIds", draws: int, seed: int) -> dict[str, float]:
    """Compare both bounds on the last three tokens of a conversation."""
    stop = len(one.ids)
    row = span_row(one.ids, [(stop - ENUMERATED, stop)], size=ENUMERATED, pad=END)
    costs = bounds.block_costs(denoiser, row, span_mask(row), 0)
    exact = bounds.exact_bound(costs, ENUMERATED)
    sampled = float(bounds.sampled_bounds(costs, row, 0, draws=draws, seed=seed).mean())
    return {"bound/exact": exact, "bound/sampled": sampled, "bound/error": abs(sampled / exact - 1)}


def _summaries(found: Mapping[str, Figures]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in found.items():
        figures |= {f"{name}/{key}": float(own[key].mean()) for key in ("turns", "calls", "repeats", "forwards")}
        figures[f"{name}/pass@1"] = float(own["correct"].mean())
        figures[f"{name}/malformed"] = _malformed(own)
    return figures


def _malformed(own: Figures) -> float:
    """Malformed share of calls; 0 without calls."""
    return float(own["malformed"].sum() / max(own["calls"].sum(), 1))


def _comparisons(found: Mapping[str, Figures]) -> dict[str, float]:
    aligned = found["aligned"]
    plain = found["autoregressive"]
    figures = dict[str, float]()
    for name in ("autoregressive", "naive"):
        figures |= interval_figures(f"gain/{name}", aligned["correct"] - found[name]["correct"])
    both_N = (aligned["correct"] > 0) & (plain["correct"] > 0)
    figures |= {"solved": float(both_N.mean()), "both/forwards": 1.0, "both/turns": 0.0}
    if both_N.any():
        figures["both/forwards"] = float(aligned["forwards"][both_N].sum() / plain["forwards"][both_N].sum())
        figures["both/turns"] = float((aligned["turns"] - plain["turns"])[both_N].mean())
    figures["excess/malformed"] = _malformed(aligned) - _malformed(plain)
    return figures
