"""Method: a choice for each role of a training run. The method of a paper is a change to a base method.

    change : (Method of the base, *, options) -> Method

The change is a function with the name of its folder or file; it returns `replace(base, ...)`. The base, with the same
settings, is the baseline of the method's claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from handaxe.core.protocols import (
    AdvantageTransform,
    Credit,
    Curriculum,
    HiddenMeasure,
    Learner,
    Reward,
    Rollout,
    Selector,
    Stage,
)
from handaxe.core.records import Sampling, Task
from handaxe.methods.judge_role import JudgeRole
from handaxe.selection.keep_all import keep_all
from handaxe.training.loop.config import AsyncConfig, EarlyStop
from handaxe.training.loop.schedule import ScheduleName
from handaxe.worlds.world import World

if TYPE_CHECKING:  # loss components import torch, which takes seconds; options are parsed without
    from handaxe.losses.parts.components import Adjustment, Correction, Ratio, Reduction, Surrogate, Term

__all__ = ["Change", "Method", "RunSettings", "StudyFunction", "replace"]

KEEP_ALL = keep_all()
Change = Callable[..., "Method"]
"""(Method of the base, *, options) -> Method. The root method, `grpo_no_kl`, takes (World, RunSettings) instead."""

StudyFunction = Callable[[int], Mapping[str, float]]
"""Return type of a study: seed -> figures by name."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of every run, independent of the method.

    Args:
        model: tiny, tiny_vision, small, start (the cold-start checkpoint of the world), smollm2, a folder, a file or a
            hub name.
        lora: rank of a LoRA adapter that trains instead of the model's weights, scaled by 2; 0 for none.
        lora_vision: put the adapter on vision tower and projector too, and not on the language model alone.
        vision: train or freeze vision tower and projector of a model that reads images; auto trains those of a tiny
            model alone. An adapter leaves both frozen.
        max_pixels: of an image after resizing by the model's image processor, all tiles together; fewer pixels are
            fewer tokens. 0 for the limits of the processor.
        dtype: of the model's weights; auto is float32, and for a saved adapter the dtype of its base. Trained bfloat16
            weights have float32 master weights in the optimizer.
        quantize: bits of the frozen weights below a LoRA adapter; see docs/memory.md.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; by default the tools of the world.
        tool_server: run the tools in a server process beside training, in training and evaluation; see
            tools.tool_server.
        steps: training steps.
        groups: tasks per step.
        group_size: rollouts per task.
        learning_rate: of AdamW; the maximum of the schedule.
        schedule: of the learning rate; linear and cosine decay to 0 at the last step.
        warmup: first steps, over which the learning rate increases linearly.
        max_turns: turns per rollout.
        max_tokens: tokens per turn.
        max_images: images of all replies of a rollout, and one more ends the rollout; 0 for no limit.
        wait: median of the seconds added to each tool call in training; see envs.slow.
        wait_sigma: standard deviation of the logarithm of the wait.
        held_out: number of held-out tasks for evaluation.
        samples: rollouts per held-out task.
        eval_every: steps between evaluations; 0: one before the first step and one after the last.
        stop_when: conditions that end the run once all hold, such as "pass@1>=0.9" of evaluations or
            "training/reward>0.95" of steps.
        patience: the run ends after this number of evaluations without a new maximum of pass@1, and the checkpoint of
            the maximum is kept; 0 for never.
        seed: of every random draw.
        aux_policies: further models that environments and rollouts sample from, such as user=smollm2 for a simulated
            user; also user=self, self@start, trained, or http://127.0.0.1:8000/v1#NAME for a model of a chat server.
        judge: who answers for the judge of the method: rule, self, self@start, trained, a model, head:MODEL,
            http://HOST/v1#NAME for a model of a chat server, or MODULE:ATTRIBUTE of your own; see docs/judges.md.
        judge_flip: probability of a flipped verdict of the judge, the same for the same step.
        judge_labels: most labelled questions that teach a judge trained or head:MODEL.
        judge_budget: most tokens that the judge may read and write; 0 for no limit.
        judge_min_coverage: least mean probability mass on the answers of a question; below it the run ends.
        permute_rewards: permute the outcomes within each group: a control without a learning signal.
    """

    model: str = "tiny"
    lora: int = 0
    lora_vision: bool = False
    vision: Literal["auto", "frozen", "trained"] = "auto"
    max_pixels: int = 0
    dtype: Literal["auto", "float32", "bfloat16", "float64"] = "auto"
    quantize: Literal["none", "4bit", "8bit"] = "none"
    tools: tuple[str, ...] | None = None
    tool_server: bool = False
    steps: int = 20
    groups: int = 12
    group_size: int = 8
    learning_rate: float = 3e-4
    schedule: ScheduleName = "constant"
    warmup: int = 0
    max_turns: int = 3
    max_tokens: int = 48
    max_images: int = 0
    wait: float = 0.0
    wait_sigma: float = 1.0
    held_out: int = 200
    samples: int = 1
    eval_every: int = 0
    stop_when: tuple[str, ...] = ()
    patience: int = 0
    seed: int = 0
    aux_policies: tuple[str, ...] = ()
    judge: str = "rule"
    judge_flip: float = 0.0
    judge_labels: int = 512
    judge_budget: int = 0
    judge_min_coverage: float = 0.2
    permute_rewards: bool = False


@dataclass(frozen=True, kw_only=True)
class Method:
    """A choice for each role of a run; a change replaces some choices. `annotate` decides whether the engine has a
    critic ("value") and a reference model ("ref_logp").

    world      read only: the correctness rule, tools and tasks
    settings   read only: a stage that trains takes its sizes from the settings
    aux_policies  role of the environment -> source of its model, see methods.aux_policies; rule is the world's own
    judge      read only: gives the checks and step judges of a method, by `RunSettings.judge`
    tasks      (training tasks, seed) -> curriculum; None: tasks in order
    sampling   a value or a function of the training step; None: temperature 1 and `RunSettings.max_tokens`
    shared, stages    stages before the training loop. `shared` stages are independent of the seed and run once for all
               runs, see training.stages.run_stages. A stage with a reference in its loss needs "ref_logp" in `annotate`
    closing    stages after the last step of the loop and before the last evaluation; they produce the final weights
    early_stop called after each optimizer step; True skips the remaining optimizer steps of the training step
    critic_warmup, critic_rate    steps in which only the critic learns, and its learning rate; see Updates
    evaluate_rollout  rollout strategy of evaluations; None: the strategy of the world, usually linear
    """

    world: World
    settings: RunSettings = RunSettings()
    judge: JudgeRole = field(default_factory=JudgeRole)
    aux_policies: Mapping[str, str] = field(default_factory=dict)
    reward: Reward
    rollout: Rollout
    credit: Credit
    ratio: Ratio
    surrogate: Surrogate
    reduction: Reduction
    correction: Correction | None = None
    adjustments: tuple[Adjustment, ...] = ()
    terms: tuple[Term, ...] = ()
    transform: AdvantageTransform | None = None
    select: Selector = KEEP_ALL
    tasks: Callable[[list[Task], int], Curriculum] | None = None
    sampling: Sampling | Callable[[int], Sampling] | None = None
    annotate: tuple[str | HiddenMeasure, ...] = ()
    learners: tuple[Learner, ...] = ()
    shared: tuple[Stage, ...] = ()
    stages: tuple[Stage, ...] = ()
    closing: tuple[Stage, ...] = ()
    async_config: AsyncConfig = field(default_factory=AsyncConfig)
    epochs: int = 1
    minibatches: int = 1
    early_stop: EarlyStop | None = None
    critic_warmup: int = 0
    critic_rate: float | None = None
    evaluate_rollout: Rollout | None = None
