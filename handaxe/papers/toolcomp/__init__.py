"""ToolComp (arXiv:2501.01290): outcome and process reward models on chains of several tools with labelled steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import RatedGroup, Sampling
from handaxe.evaluation.play_groups import play_groups
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.toolcomp.reward_models import Unit, fit_reward_model, rollout_scores
from handaxe.papers.toolcomp.step_figures import first_error_figures, rank_one, step_choices
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.fact_chains import fact_chains, step_verdicts

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["toolcomp"]

TEMPERATURES = {"weak": 1.25, "strong": 1.0}
"""Generator -> temperature of the policy; the reward models learn from rollouts at temperature 1."""
TOKENS = 32
PROCESS: tuple[Unit, ...] = ("action", "step")
UNITS: tuple[Unit, ...] = ("trajectory", *PROCESS)


def toolcomp(*, training: int = 56, siblings: int = 6, tasks: int = 40, samples: int = 10) -> StudyFunction:
    """Fit an outcome and two process reward models on the same rollouts, and rank rollouts of two generators.

    Figures; GEN is strong, the policy of the training rollouts, or weak, the policy at a higher temperature:
        answers/GEN, steps/GEN        share of correct answers; share of correct steps among judged steps
        rank1/GEN/random, .../oracle  correctness of a random rollout, and of the best one
        rank1/GEN/orm                 rank@1 of the outcome model
        rank1/GEN/UNIT/AGGREGATE      rank@1 of a process model by unit (action, step) and aggregate
        gain/GEN/prm                  rank@1 of the model of actions with `min` less that of the outcome model, with
                                      /low and /high of the 95 % interval over tasks
        gain/GEN/prm_max              the same for the model of whole steps with `max`
        gain/GEN/orm                  rank@1 of the outcome model less that of a random rollout, with the interval
        choice/GEN                    share of pairs (incorrect step, corrected step) in which the process model of
                                      actions prefers the corrected step, with the interval over pairs
        first/GEN/error, /clean, /f1  first incorrect step, see `first_error_figures`

    Args:
        training: tasks with labelled rollouts.
        siblings: labelled rollouts of a task.
        tasks: held-out tasks.
        samples: ranked rollouts of a held-out task.

    Example:
        the outcome model ranks a correct rollout first in 20 of 40 tasks, the process model in 24  ->  gain 0.1

    Paper: arXiv:2501.01290 (ToolComp), rank@1 of outcome and process reward models for two generators.
    Differs: models of 0.85M parameters; questions and labels by rule.
    """

    def measure(seed: int) -> dict[str, float]:
        world = fact_chains()
        policy = start_policy(world)
        engine = local.LocalEngine(policy.model)
        play = partial(play_groups, engine, policy.format, world, seed=seed)
        labelled = play(split="train", tasks=training, siblings=siblings, sampling=Sampling(max_tokens=TOKENS))
        models = {unit: fit_reward_model(engine, labelled, unit=unit) for unit in UNITS}
        figures = dict[str, float]()
        for name, temperature in TEMPERATURES.items():
            sampling = Sampling(temperature=temperature, max_tokens=TOKENS)
            groups = play(split="test", tasks=tasks, siblings=samples, sampling=sampling)
            scores = {unit: rollout_scores(models[unit], groups, unit=unit) for unit in UNITS}
            own = _rank_figures(scores, groups)
            own |= interval_figures("choice", step_choices(models["action"], world, groups))
            own |= {f"first/{key}": value for key, value in first_error_figures(models["action"], groups).items()}
            figures |= {_placed(key, name): value for key, value in own.items()}
        return figures

    return measure


def _placed(key: str, generator: str) -> str:
    """The name of a figure with the generator as second part."""
    head, _, rest = key.partition("/")
    return "/".join(filter(None, (head, generator, rest)))


def _rank_figures(
    scores: Mapping[Unit, Mapping[str, Sequence[np.ndarray]]], groups: Sequence[RatedGroup]
) -> dict[str, float]:
    truths = [one.scores.outcome for one in groups]
    verdicts = np.concatenate([step_verdicts(one) for rated in groups for one in rated.group])
    random = np.array([own.mean() for own in truths])
    orm = rank_one(scores["trajectory"]["outcome"], groups)
    process = {f"{unit}/{name}": rank_one(own, groups) for unit in PROCESS for name, own in scores[unit].items()}
    figures = {
        "answers": float(random.mean()),
        "steps": float((verdicts[verdicts != 0] > 0).mean()),
        "rank1/random": float(random.mean()),
        "rank1/oracle": float(np.mean([own.max() for own in truths])),
        "rank1/orm": float(orm.mean()),
        **{f"rank1/{name}": float(own.mean()) for name, own in process.items()},
    }
    figures |= interval_figures("gain/orm", orm - random)
    figures |= interval_figures("gain/prm", process["action/min"] - orm)
    return figures | interval_figures("gain/prm_max", process["step/max"] - orm)
