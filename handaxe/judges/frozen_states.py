"""Hidden states of a frozen copy of the policy on the texts that describe the states of a rollout."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Copyable, Engine
from handaxe.core.records import Message, Trajectory
from handaxe.ops.turn_positions import initial_messages, turn_positions

__all__ = ["FrozenStates", "state_texts"]


def state_texts(one: Trajectory, *, window: int = 2) -> list[str]:
    """Describe the state before the first and after each turn by the latest observations.

        o_0 = texts of the opening,  o_k = texts of the messages between turns k - 1 and k
        text of state k = the last `window` of o_0, ..., o_k that are not empty, a line each

    The turns of the policy and the number of the turn are left out, so that a state has the same text whenever it is
    reached.

    Args:
        one: a rollout of N turns.
        window: observations of a state, >= 1.

    Returns:
        N + 1 texts.

    Raises:
        InputError: a window below 1.

    Example:
        opening "goal. key f1", replies "+key" and "+key locked f1", window 2  ->
        "goal. key f1", "goal. key f1\\n+key", "+key\\n+key locked f1"

    Idea: the text form of a camera image, which shows the state and not the time.
    """
    if window < 1:
        raise InputError(f"window is {window}; give 1 observation or more")
    count = len(one.turns)
    spoken = [list(initial_messages(one.messages, turns=count))]
    ends = [*turn_positions(one.messages, turns=count), len(one.messages)]
    spoken += [list(one.messages[start + 1 : stop]) for start, stop in itertools.pairwise(ends)]
    seen = list[str]()
    texts = list[str]()
    for own in spoken:
        observation = " ".join(message.content for message in own).strip()
        seen += [observation] if observation else []
        texts.append("\n".join(seen[-window:]))
    return texts


class FrozenStates:
    """Features of the states of a rollout: the last layer's hidden states of a frozen language model.

        x_k = state at the last token of the prompt whose only message is `state_texts`[k]        k = 0 .. N

    A text that occurs twice in a call is read once; a text beyond the context keeps its last tokens. Nothing is kept
    between calls, so that equal calls have equal results, also in a resumed run.

    Args:
        window: observations of a state, see `state_texts`.
        rows: texts of a forward pass, >= 1.

    Raises:
        InputError: a call before `begin`, a number out of range, or an engine without a local model.

    Example:
        a rollout of 3 turns and a model of width 128  ->  [4, 128]

    Idea: features of a pretrained model are fixed; a small model on top learns from few demonstrations.
    """

    def __init__(self, *, window: int = 2, rows: int = 64):
        if rows < 1 or window < 1:
            raise InputError(f"rows is {rows} and window {window}; give 1 or more")
        self._window = window
        self._rows = rows
        self._engine: Any = None
        self._format: ChatFormat | None = None

    def begin(self, engine: Engine, format: ChatFormat) -> None:
        """Copy the policy as the engine holds it now. Further calls do nothing."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable) or not hasattr(engine, "model"):
            raise InputError(f"{type(engine).__name__} shows no hidden states of a model: train with the local engine")
        self._engine = engine.twin()
        self._format = format

    def states(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """Compute the states of rollouts; [N_i + 1, D] float64 for a rollout of N_i turns."""
        texts = [state_texts(one, window=self._window) for one in trajectories]
        state_D = self._read([text for own in texts for text in own])
        return [np.stack([state_D[text] for text in own]) for own in texts]

    def _read(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Features of each text, computed in batches of similar length."""
        if self._engine is None or self._format is None:
            raise InputError("the frozen model is missing: call begin(engine, format), as a stage before training does")
        rows = {
            text: self._format.start((Message("user", text),), ()).ids[-self._engine.max_length :] for text in texts
        }
        order = sorted(rows, key=lambda text: len(rows[text]))
        found: dict[str, np.ndarray] = {}
        with torch.inference_mode():
            for start in range(0, len(order), self._rows):
                chosen = order[start : start + self._rows]
                hidden_BTD = self._forward([rows[text] for text in chosen])
                found |= {text: hidden_BTD[b, len(rows[text]) - 1] for b, text in enumerate(chosen)}
        return found

    def _forward(self, ids: Sequence[Sequence[int]]) -> np.ndarray:
        """[B, T, D] hidden states of right-padded rows."""
        longest = max(len(own) for own in ids)
        pad = self._engine.pad_id
        ids_BT = torch.tensor([[*own, *[pad] * (longest - len(own))] for own in ids])
        attend_BT = torch.tensor([[t < len(own) for t in range(longest)] for own in ids])
        device = self._engine.device
        hidden_BTD = self._engine.model.hidden(ids_BT.to(device), attend_BT.to(device))
        hidden: np.ndarray = hidden_BTD.double().cpu().numpy()
        return hidden
