"""Small causal transformer over the steps of learning histories."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from handaxe.models.tiny import Block, TinyConfig
from handaxe.papers.lhf.dark_room import ACTIONS, DarkRoom

__all__ = ["HistoryModel"]


class HistoryModel(nn.Module):
    """Action logits at each step, from the cell, and the cells, actions and rewards of all steps before.

    The input of a step is the sum of embeddings of row, column, place in the episode, previous action and previous
    reward. The blocks are those of the embedded policy.

    Args:
        room: of the steps.
        width, layers, heads: of the blocks.

    Example:
        HistoryModel(DarkRoom())(cell_BT, action_BT, reward_BT) with T = 48: logits [B, 48, 5]

    Paper: arXiv:2505.15143 (LHF), the transformer of algorithm distillation.
    Differs: a step is one position; 2 blocks of width 32.
    """

    def __init__(self, room: DarkRoom, *, width: int = 32, layers: int = 2, heads: int = 2):
        super().__init__()
        config = TinyConfig(width=width, layers=layers, heads=heads)
        self.room = room
        self.row = nn.Embedding(room.size, width)
        self.column = nn.Embedding(room.size, width)
        self.place = nn.Embedding(room.horizon, width)
        self.before = nn.Embedding(2 * len(ACTIONS) + 1, width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(layers)])
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, len(ACTIONS))
        self._half = width // heads // 2

    def forward(self, cell_BT: Tensor, action_BT: Tensor, reward_BT: Tensor) -> Tensor:
        """Compute logits [B, T, A].

        Args:
            cell_BT: before each step. T is at most a multiple of the horizon.
            action_BT, reward_BT: of each step; those of the last step are not read.
        """
        length = cell_BT.shape[1]
        pair_BT = action_BT * 2 + reward_BT.long() + 1
        before_BT = F.pad(pair_BT[:, :-1], (1, 0))
        place_T = torch.arange(length) % self.room.horizon
        x_BTD = self.row(cell_BT // self.room.size) + self.column(cell_BT % self.room.size)
        x_BTD = x_BTD + self.place(place_T) + self.before(before_BT)
        rotation_1TK = self._rotation(length)
        for block in self.blocks:
            x_BTD = block(x_BTD, rotation_1TK, _causal)
        return self.head(self.norm(x_BTD))

    def _rotation(self, length: int) -> Tensor:
        rate_K = 10000.0 ** (-torch.arange(self._half) / self._half)
        angle = torch.arange(length)[None, :, None] * rate_K
        return torch.cat([angle.cos(), angle.cos(), -angle.sin(), angle.sin()], -1)


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
