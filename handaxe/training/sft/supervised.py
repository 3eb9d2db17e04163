"""Shared parts of supervised stages: trajectories as rated groups, batch order, and the training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss, Restarts, StageContext
from handaxe.core.records import Advantages, Group, RatedGroup, Scores, Trajectory
from handaxe.ops.seeds import derive_seed, generator
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.run import Run
from handaxe.training.loop.schedule import rate_at
from handaxe.training.loop.update import optimiser_step

__all__ = [
    "as_rated",
    "in_batches",
    "pair_pieces",
    "restart",
    "run_steps",
    "stage_run",
    "stateful_parts",
    "supervised_batch",
]

NO_FACTS: Mapping[str, float] = {}
STAGE_RUN = RunConfig(checkpoint_every=50, checkpoints=1)


def as_rated(trajectories: Sequence[Trajectory]) -> RatedGroup:
    """Make one group with advantage 1 at every token of the policy."""
    group = Group(trajectories[0].task, tuple(trajectories))
    tokens = tuple(tuple(sequence.mask.astype(np.float64) for sequence in one.sequences) for one in trajectories)
    return RatedGroup.of(group, Scores(np.ones(len(group))), Advantages(tokens))


def supervised_batch(rated: Sequence[RatedGroup], engine: Engine) -> Batch:
    """Make the batch of these groups as in reinforcement learning, at temperature 1."""
    batch = make_batch(rated, pad_id=engine.pad_id)
    return replace(batch, temperature_B=torch.ones_like(batch.temperature_B))


def pair_pieces(batch: Batch, rows: int) -> list[Batch]:
    """Split a batch, whose rollouts 2k and 2k + 1 are pair k, into pieces of about `rows` rows, pairs kept whole and in
    order; denominators stay global. A piece is larger only for a single pair.
    """
    pieces: list[list[int]] = [[]]
    pair_of = (batch.rollout_B // 2).tolist()
    for pair in dict.fromkeys(pair_of):
        both = [row for row, own in enumerate(pair_of) if own == pair]
        if pieces[-1] and len(pieces[-1]) + len(both) > rows:
            pieces.append([])
        pieces[-1] += both
    return [batch.rows(torch.tensor(piece)) for piece in pieces]


def in_batches(count: int, size: int, epochs: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the indices of each optimiser step: a new permutation of `count` per epoch, `size` at a time."""
    if epochs < 0 or size < 1:
        raise InputError(f"epochs is {epochs} and batch_size {size}; give 0 or more epochs, and 1 or more a batch")
    for epoch in range(epochs):
        order = generator(seed, "epoch", epoch).permutation(count)
        yield from (order[i : i + size] for i in range(0, count, size))


def run_steps(
    site: StageContext,
    loss: Loss,
    pieces: Sequence[Callable[[], list[Batch]]],
    *,
    learning_rate: float | Callable[[int], float],
    title: str,
    about: Mapping[str, Any],
    restart_first: bool,
    facts: Mapping[str, float] = NO_FACTS,
) -> list[dict[str, float]]:
    """Take one optimiser step per entry of `pieces`, which returns its micro-batches when called.

    The loop is a run like `train`'s: recorded and resumed the same way; Ctrl-C finishes the current step.

    Args:
        site: provides engine and folder.
        learning_rate: a number, or a function of the step.
        title: of the bar.
        about: for recipe.json.
        restart_first: restart the engine before the first step.
        facts: further metrics, the same at each step, such as the number of demonstrations.
    """
    torch.manual_seed(derive_seed(site.seed, "torch"))  # of dropout; a checkpoint has its own state
    parts = stateful_parts(site)
    run = Run(site.engine, parts, len(pieces), about, stage_run(site), title=title, format=site.format)
    with run:
        for step in run.todo():
            if step == 0 and restart_first:
                restart(site.engine)
            taken = optimiser_step(site.engine, loss, pieces[step](), rate_at(learning_rate, step))
            run.finish([], {**taken, **facts})
    return run.result().metrics


def stage_run(site: StageContext, config: RunConfig = STAGE_RUN, *, folder: str = "") -> RunConfig:
    """Settings of a stage's run: `config` in the stage's folder, or in a folder within it."""
    out = None if site.out is None else site.out / folder
    return replace(config, out=out, resume=site.resume and out is not None, progress=site.progress)


def stateful_parts(site: StageContext) -> dict[str, object]:
    """Roles of a context with state for a stage's checkpoint, since its source may use them."""
    return {"tasks": site.tasks, "env": site.env, "rollout": site.rollout, "reward": site.reward}


def restart(engine: Engine) -> None:
    """Restart an engine.

    Raises:
        InputError: the engine lacks `restart`.
    """
    if not isinstance(engine, Restarts):
        raise InputError(
            f"{type(engine).__name__} cannot restart, as this stage does: it lacks restart, start_digest and "
            "load_weights; see core.protocols.Restarts"
        )
    engine.restart()
