"""Engine without a model, with scripted replies, for tests of rollouts, environments and rewards."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, HiddenMeasure, Loss
from handaxe.core.records import Finish, Message, ToolCall
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["ScriptedEngine", "encode_reply"]

Words = str | ToolCall | tuple[str, ToolCall]
Script = Callable[[str, int], Words]


def encode_reply(format: ChatFormat, words: Words, tools: Sequence = ()) -> list[int]:
    """Encode a text, a call, or both as sampled ids."""
    if isinstance(words, str):
        message = Message("assistant", words)
    elif isinstance(words, ToolCall):
        message = Message("assistant", "", (words,))
    else:
        message = Message("assistant", words[0], (words[1],))
    return format.encode_turn(message, tools)


class ScriptedEngine:
    """Scripted sampling behind the interface of `core.protocols.Engine`; training methods raise.

    Args:
        format: chat format of the rollout.
        script: function of (decoded ids so far, turn index) that returns the reply; or a list with the reply of turn k
            at position k.
        tools: schemas, for formats that need them to write a call.

    Example:
        ScriptedEngine(Compact(), [ToolCall("calculator", {"expression": "2*3"}), "6"], tools=[calculator.schema])
    """

    version = 0
    max_length = 1 << 20
    pad_id = 0

    def __init__(self, format: ChatFormat, script: Sequence[Words] | Script, *, tools: Sequence = ()):
        self._format = format
        self._script = script
        self._tools = tools

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Return the script's replies, cut to each request's max_tokens; every token has probability 1. For a partial
        turn, return the rest.
        """
        out = []
        for request in requests:
            ids = encode_reply(self._format, self._words(request), self._tools)
            room = request.sampling.max_tokens
            finish: Finish = "stop" if len(ids) <= room else "length"
            begun = request.prefix or Partial([], [], [], [])
            rest = ids[len(begun.ids) : room]
            zeros = [0.0] * len(rest)
            version = [*begun.version, *[self.version] * len(rest)]
            logp, behaviour = [*begun.logp, *zeros], [*begun.behaviour_logp, *zeros]
            out.append(Completion([*begun.ids, *rest], logp, behaviour, version, finish))
        return out

    def _words(self, request: Sample) -> Words:
        turn = request.turn
        if callable(self._script):
            return self._script(self._format.decode(request.ids), turn)
        if turn >= len(self._script):
            raise InputError(f"the script has {len(self._script)} turns, but turn {turn} is requested")
        return self._script[turn]

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Return zeros of the right shape: every token has probability 1."""
        del reference
        out = dict[str, torch.Tensor]()
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"a ScriptedEngine has no hidden states, so it cannot measure {name.name}")
            out[name] = torch.zeros(batch.ids_BT.shape)
        return out

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Raise InputError: a script has no weights."""
        raise InputError("a ScriptedEngine has no weights to train")

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Raise InputError: a script has no weights."""
        raise InputError("a ScriptedEngine has no weights to train")

    def save(self, folder: Path) -> None:
        """Do nothing."""

    def load(self, folder: Path) -> None:
        """Do nothing."""
