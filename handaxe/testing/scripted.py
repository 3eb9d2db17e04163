"""An engine without a model: it says what a script says. For testing rollouts, environments and rewards."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from handaxe.core.batch import Batch, LossOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, HiddenMeasure, Loss
from handaxe.core.records import Finish, Message, ToolCall
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["ScriptedEngine", "say"]

Words = str | ToolCall | tuple[str, ToolCall]
Script = Callable[[str, int], Words]


def say(format: ChatFormat, words: Words, tools: Sequence = ()) -> list[int]:
    """The ids a policy would sample to say a text, make a call, or both."""
    if isinstance(words, str):
        message = Message("assistant", words)
    elif isinstance(words, ToolCall):
        message = Message("assistant", "", (words,))
    else:
        message = Message("assistant", words[0], (words[1],))
    return format.encode_turn(message, tools)


class ScriptedEngine:
    """Implements `slots.Engine` as far as sampling goes; training verbs raise.

    Args:
        format: the chat format of the rollout.
        script: called with (decoded ids so far, turn index) and returns what to say; or a list, whose k-th entry is
            said in turn k.
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
        """What the script says, cut to each request's max_tokens; every token has probability 1. Of a turn that was
        begun the rest is said."""
        out = []
        for request in requests:
            ids = say(self._format, self._words(request), self._tools)
            room = request.sampling.max_tokens
            finish: Finish = "stop" if len(ids) <= room else "length"
            begun = request.begun or Partial([], [], [], [])
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
            raise InputError(f"the script has {len(self._script)} turns, but turn {turn} is asked for")
        return self._script[turn]

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Zeros of the right shape: every token has probability 1."""
        del reference
        out = dict[str, torch.Tensor]()
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"a ScriptedEngine has no hidden states, so it cannot measure {name.name}")
            out[name] = torch.zeros(batch.ids_BT.shape)
        return out

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """A script cannot learn."""
        raise InputError("a ScriptedEngine has no weights to train")

    def optim_step(self, *, learning_rate: float) -> dict[str, float]:
        """A script cannot learn."""
        raise InputError("a ScriptedEngine has no weights to train")

    def save(self, folder: Path) -> None:
        """Nothing to write."""

    def load(self, folder: Path) -> None:
        """Nothing to read."""
