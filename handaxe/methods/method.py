"""What a recipe is: a change to a base. The base, in the same setting, is what its claim is measured against.

    change : (Method of the base, *, own knobs) -> Method

A recipe file is one constant `RECIPE = Recipe(...)` and one function of the file's name that returns
`replace(base, ...)`. Claim, Paper, partial and replace stand here too, so that it imports all it is written in at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from handaxe.core.protocols import Credit, Curriculum, HiddenMeasure, Learner, Reward, Rollout, Selector, Shape, Stage
from handaxe.core.records import Sampling, Task
from handaxe.losses.parts.pieces import Adjustment, Correction, Ratio, Reduction, Surrogate, Term
from handaxe.selection.keep_all import keep_all
from handaxe.training.loop.config import AsyncConfig
from handaxe.training.loop.update import Enough
from handaxe.worlds.world import World

__all__ = ["Change", "Measured", "Method", "RunSettings", "replace"]

KEEP_ALL = keep_all()
Change = Callable[..., "Method"]
"""What a recipe's file defines: (Method of the base, *, knobs) -> Method. The root of all, `plain`, takes (World,
Setting) in the base's place."""

Measured = Callable[[int], Mapping[str, float]]
"""What the function of a study returns: seed -> figures by name."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every recipe can be run with, whatever it changes.

    Args:
        model: tiny, start (the tiny policy that the world starts from), smollm2, a folder, a file or a hub name.
        lora: rank of an adapter that trains in the place of the model's own weights, scaled by 2; 0 for none.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; those of the world unless told otherwise.
        steps: training steps.
        groups: tasks a step.
        group_size: attempts a task.
        learning_rate: of AdamW.
        max_turns: turns of an attempt.
        max_tokens: tokens of a turn.
        wait: median seconds that a tool call takes longer in training; see envs.slow.
        wait_sigma: spread of the logarithm of the wait.
        held_out: tasks that are evaluated on.
        samples: attempts at each of them.
        eval_every: steps between evaluations; 0: one before the first step and one after the last.
        seed: of everything.
        aux_policies: further models that environments and rollouts may ask, such as user=smollm2 for a simulated user,
            or user=http://127.0.0.1:8000/v1#NAME for a model of a chat server.
        permute_rewards: permute the outcomes within each group: a control with nothing to learn.
    """

    model: str = "tiny"
    lora: int = 0
    tools: tuple[str, ...] | None = None
    steps: int = 20
    groups: int = 12
    group_size: int = 8
    learning_rate: float = 3e-4
    max_turns: int = 3
    max_tokens: int = 48
    wait: float = 0.0
    wait_sigma: float = 1.0
    held_out: int = 200
    samples: int = 1
    eval_every: int = 0
    seed: int = 0
    aux_policies: tuple[str, ...] = ()
    permute_rewards: bool = False


@dataclass(frozen=True, kw_only=True)
class Method:
    """One choice for each role; a recipe replaces some of them. `world` is there to be read: what is right in it, what
    counts as an answer. The critic and the reference model follow from `annotate` ("value", "ref_logp").

    tasks      (tasks to train on, seed) -> the curriculum; None goes through them in order
    sampling   None: temperature 1, `RunSettings.max_tokens`; else a value or a function of the training step
    setting    what the run is told, there to be read as `world` is: a stage that trains takes its sizes from it
    shared, stages    what is done before the loop; `shared` depends on no seed and is done once for all runs, see
               training.stages.run_stages. A stage with a loss against a reference needs "ref_logp" in `annotate`
    closing    stages after the loop's last step, before the last evaluation; the run's weights are what they leave
    enough     asked after each optimiser step whether the rest of the training step's are left out
    evaluate_rollout  the strategy of evaluations; None is that of the world, mostly the linear one
    """

    world: World
    settings: RunSettings = RunSettings()
    reward: Reward
    rollout: Rollout
    credit: Credit
    ratio: Ratio
    surrogate: Surrogate
    reduction: Reduction
    correction: Correction | None = None
    adjustments: tuple[Adjustment, ...] = ()
    terms: tuple[Term, ...] = ()
    shape: Shape | None = None
    select: Selector = KEEP_ALL
    tasks: Callable[[list[Task], int], Curriculum] | None = None
    sampling: Sampling | Callable[[int], Sampling] | None = None
    annotate: tuple[str | HiddenMeasure, ...] = ()
    learners: tuple[Learner, ...] = ()
    shared: tuple[Stage, ...] = ()
    stages: tuple[Stage, ...] = ()
    closing: tuple[Stage, ...] = ()
    pace: AsyncConfig = field(default_factory=AsyncConfig)
    epochs: int = 1
    minibatches: int = 1
    enough: Enough | None = None
    evaluate_rollout: Rollout | None = None
