"""Study: which weights FTRL changes, by layer and part of the block."""

from dataclasses import replace

import numpy as np

from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.method import StudyFunction
from handaxe.methods.run import run_built
from handaxe.methods.run_spec import run_template
from handaxe.ops.stats import column_figures
from handaxe.papers.ftrl.weight_changes import BlockPart, weight_changes
from handaxe.training.loop.config import RunConfig

__all__ = ["ftrl_weights"]

GAINS = {
    "mlp_less_attention": ("mlp", "attention"),
    "low_less_high": ("low_mlp", "high_mlp"),
    "low_mlp_less_permuted": ("low_mlp", "permuted/low_mlp"),
}


def ftrl_weights(*, seeds: int = 4, steps: int = 20, model: str = "start") -> StudyFunction:
    """Train `ftrl`, with its rewards and with permuted ones, and compare the weights with those before.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        LAYER/attention, LAYER/mlp     relative change of a part, see `weight_changes`; layer 0 is next to the embedding
        attention, mlp                 means over layers
        low_mlp, high_mlp              means over the lower and the upper half of the layers
        permuted/NAME                  the same with the rewards of each group permuted: no signal
        mlp_less_attention, low_less_high, low_mlp_less_permuted     differences of these
        reward                         mean reward of the last quarter of the steps, less that of the first

    Args:
        seeds: of a run each, from the study's seed on.
        steps: of a run.
        model: policy before training, as in `handaxe train`.

    Example:
        change .03 of the MLP of layers 0 and 1, .02 of 2 and 3  ->  low_less_high .01

    Paper: arXiv:2508.08791 (FTRL), the analysis of parameter updates.
    Differs: a policy of 0.85M parameters and four layers; permuted rewards are a control of this study.
    """

    def measure(seed: int) -> dict[str, float]:
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            for prefix, permuted in (("", False), ("permuted/", True)):
                for name, value in _run(number, steps, model, permuted).items():
                    columns.setdefault(prefix + name, []).append(value)
        return column_figures(columns, GAINS)

    return measure


def _run(seed: int, steps: int, model: str, permuted: bool) -> dict[str, float]:
    """Figures of a run."""
    spec = run_template("ftrl").default()
    settings = replace(
        spec.settings, seed=seed, steps=steps, model=model, permute_rewards=permuted, held_out=1, eval_every=0
    )
    spec = replace(spec, settings=settings)
    method = make_method(spec, make_world(spec))
    made = build(spec, method=method)
    module = made["engine"].model.module
    before = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    rewards = [row["reward"] for row in run_built(method, made, RunConfig()).metrics]
    quarter = max(1, steps // 4)
    changes = weight_changes(before, dict(module.named_parameters()))
    layers = sorted({part.layer for part in changes})
    half = (len(layers) + 1) // 2
    mlp = [changes[BlockPart(layer, "mlp")] for layer in layers]
    return {
        **{f"{layer}/{part}": value for (layer, part), value in changes.items()},
        "attention": float(np.mean([changes[BlockPart(layer, "attention")] for layer in layers])),
        "mlp": float(np.mean(mlp)),
        "low_mlp": float(np.mean(mlp[:half])),
        "high_mlp": float(np.mean(mlp[half:] or mlp)),
        "reward": float(np.mean(rewards[-quarter:]) - np.mean(rewards[:quarter])),
    }
