"""Algorithm distillation: training on learning histories, and improvement in context without updates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from handaxe.core.errors import InputError
from handaxe.papers.lhf.dark_room import ACTIONS, DarkRoom, Histories
from handaxe.papers.lhf.history_model import HistoryModel

__all__ = ["context_returns", "distill", "draw_contexts"]

Logits = Callable[[Tensor, Tensor, Tensor], Tensor]


def draw_contexts(
    histories: Histories, *, batch: int, episodes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw histories, and of each every k-th episode from a random one of the first k.

    Args:
        histories: of E episodes of T steps; k = E // episodes.
        batch: B.
        episodes: of a context.
        rng: of histories and first episodes.

    Returns:
        Cells, actions and rewards [B, episodes * T].

    Raises:
        InputError: a history has fewer episodes than a context.

    Example:
        E 80 and episodes 8: k 10, such as episodes 3, 13, ..., 73

    Paper: arXiv:2505.15143 (LHF), contexts of algorithm distillation.
    Unconfirmed: the stride; the released code of algorithm distillation was not read.
    """
    count, length, _ = histories.cell_NET.shape
    if not 1 <= episodes <= length:
        raise InputError(f"draw_contexts: a history has {length} episodes; give 1 to {length} episodes, not {episodes}")
    stride = length // episodes
    rows_B = rng.integers(count, size=batch)[:, None]
    picked_BE = rng.integers(stride, size=batch)[:, None] + stride * np.arange(episodes)
    parts = (histories.cell_NET, histories.action_NET, histories.reward_NET)
    cells, actions, rewards = (one[rows_B, picked_BE].reshape(batch, -1) for one in parts)
    return cells, actions, rewards


def distill(
    room: DarkRoom,
    histories: Histories,
    *,
    steps: int,
    seed: int,
    episodes: int = 6,
    batch: int = 32,
    rate: float = 1e-2,
) -> tuple[HistoryModel, float]:
    """Train a model to predict the source algorithm's actions; returns the model and the last loss.

        loss = -mean over all steps of log p(a_t | s_t, everything before)

    Args:
        room: of the histories.
        histories: filtered or not.
        steps: of AdamW with a one-cycle schedule.
        seed: of weights and batches.
        episodes: of a context.
        batch: contexts of a step.
        rate: largest learning rate.

    Paper: arXiv:2505.15143 (LHF), algorithm distillation as backbone.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = HistoryModel(room)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps)
    loss = torch.zeros(())
    for _ in range(steps):
        drawn = draw_contexts(histories, batch=batch, episodes=episodes, rng=rng)
        cell_BT, action_BT, reward_BT = map(torch.from_numpy, drawn)
        logits_BTA = model(cell_BT, action_BT, reward_BT)
        loss = F.cross_entropy(logits_BTA.flatten(0, 1), action_BT.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval(), float(loss.detach())


@torch.no_grad()
def context_returns(
    room: DarkRoom, logits: Logits, goal_B: np.ndarray, *, episodes: int, rng: np.random.Generator
) -> np.ndarray:
    """Play episodes in rooms with unknown goals; the context holds all episodes so far, and nothing is updated.

    Args:
        room: size and horizon.
        logits: (cells, actions, rewards) [B, T] -> logits [B, T, A], such as a `HistoryModel`.
        goal_B: goals of the rooms.
        episodes: of a context.
        rng: of the sampled actions.

    Returns:
        Returns [B, episodes].

    Paper: arXiv:2505.15143 (LHF), evaluation in unseen environments.
    """
    count = len(goal_B)
    length = episodes * room.horizon
    cell_BT = np.zeros((count, length), np.int64)
    action_BT = np.zeros_like(cell_BT)
    reward_BT = np.zeros(cell_BT.shape)
    cell_B = np.full(count, room.start)
    for t in range(length):
        if t % room.horizon == 0:
            cell_B = np.full(count, room.start)
        cell_BT[:, t] = cell_B
        read = [torch.from_numpy(one[:, : t + 1]) for one in (cell_BT, action_BT, reward_BT)]
        chance_BA = logits(*read)[:, -1].double().softmax(-1).numpy().cumsum(axis=1)
        action_B = np.minimum((rng.random((count, 1)) > chance_BA).sum(axis=1), len(ACTIONS) - 1)
        cell_B, reward_BT[:, t] = room.step(cell_B, action_B, goal_B)
        action_BT[:, t] = action_B
    return reward_BT.reshape(count, episodes, room.horizon).sum(axis=2)
