"""A policy at work: it is asked, calls its tools, and answers, as it did in training.

chat = hx.use("runs/first", [convert])
print(chat("77 yd in inches?"))         a new conversation
print(chat.more("and in feet?"))        goes on with it
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from handaxe.chat.keeping import KeptEnv, Watch
from handaxe.chat.result import Answered, answered_by
from handaxe.chat.runs import run_facts
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat, Engine, EnvFactory
from handaxe.core.records import Message, Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import Policy, load
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts import driver
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.continued import continued
from handaxe.tools.state import Offered

__all__ = ["Assistant", "use"]

MAX_TOKENS = 256
Said = str | Sequence[Message | Mapping[str, Any]]


def use(
    model: str | Path | Policy | Model | Engine,
    tools: Sequence[Offered | Sequence[Offered]] | None = None,
    *,
    format: ChatFormat | None = None,
    system: str | None = None,
    temperature: float = 0.0,
    max_turns: int = 8,
    max_tokens: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    watch: Watch | None = None,
) -> Assistant:
    """Make what answers questions: a policy with its tools.

    Args:
        model: what `handaxe.load` takes, such as the folder of a run, or what it gives; a model in hand, or an engine,
            with its `format`.
        tools: as `tool_chat` takes them. None: those of the run, which a run that a recipe made knows.
        format: chat format, in the place of the run's or the model's own.
        system: a system message that begins every conversation; None: that of the run, where it had one, "" none.
        temperature: of sampling, >= 0; 0 says what is likeliest, the same each time.
        max_turns: turns of the policy for one question, >= 1.
        max_tokens: of a turn, >= 1; None: as in training where the run says so, else 256.
        seed: of the draws, with a temperature above 0.
        device: where the model is put; an engine stays where it is.
        watch: called with a turn that makes calls before they are carried out, and with the answer afterwards, in
            another thread.

    Raises:
        InputError: there is no such model, or no tools are known; arguments out of range.

    Example:
        str(use("runs/first", [calculator])("12*34=?"))
    """
    if max_turns < 1 or not (temperature >= 0 and math.isfinite(temperature)):
        raise InputError(f"max_turns is {max_turns} and temperature {temperature}; give 1 or more turns, 0 or more")
    known = run_facts(model)
    env = known.env() if tools is None else tool_chat(tools)
    length = max_tokens if max_tokens is not None else known.max_tokens or MAX_TOKENS
    if length < 1:
        raise InputError(f"max_tokens is {length}; give 1 or more")
    opening = known.system if system is None else (Message("system", system),) if system else ()
    engine, spoken = _engine(model, format, device)
    sampling = Sampling(temperature=temperature, max_tokens=length)
    rules = Rules(max_turns=max_turns)
    return Assistant(engine, spoken, env, opening=opening, sampling=sampling, rules=rules, seed=seed, watch=watch)


class Assistant:
    """A policy with its tools. Call it with a question for a new conversation; `more` goes on with the last one.

    Tools with a state keep it for as long as a conversation lasts. A question whose attempt failed (a tool's machinery
    died, the policy began another speaker's turn, there was no room left) is no part of the conversation: `more` goes
    on from before it. Use it in one thread.

    Args:
        engine: samples.
        format: chat format.
        env: makes a conversation's environment.
        opening: messages that begin every conversation.
        sampling, rules: of one question.
        seed: of the draws: the same questions in the same order are answered the same.
        watch: see `use`.
    """

    def __init__(
        self,
        engine: Engine,
        format: ChatFormat,
        env: EnvFactory,
        *,
        opening: Sequence[Message],
        sampling: Sampling,
        rules: Rules,
        seed: int = 0,
        watch: Watch | None = None,
    ):
        self._engine, self._format = engine, format
        self._make, self._watch = env, watch
        self._opening, self._seed = tuple(opening), seed
        self._sampling, self._rules = sampling, rules
        self._begun = 0
        self._env = KeptEnv(env, watch)
        self._last: Trajectory | None = None

    def __call__(self, question: Said) -> Answered:
        """Begin a new conversation.

        Args:
            question: text, or the messages of a conversation, the last one the user's: each a Message, or
                {"role": ..., "content": ...}. A system message among them stands in the place of the own one.

        Raises:
            InputError: invalid messages, or messages that the chat format refuses.
        """
        messages = _messages(question)
        opening = () if messages[0].role == "system" else self._opening
        self.new()
        self._begun += 1
        attempt = self._attempt((*opening, *messages))
        return self._play(Play(attempt, self._rules), attempt, before=0)

    def more(self, question: Said) -> Answered:
        """Go on with the conversation; begins one where there is none. Its arguments are those of a new one."""
        last = self._last
        if last is None:
            return self(question)
        attempt = self._attempt(last.task.messages)
        before = len(last.turns)
        rules = Rules(max_turns=before + self._rules.max_turns)
        return self._play(continued(last, _messages(question), attempt, rules), attempt, before=before)

    def new(self) -> None:
        """End the conversation, and release its tools."""
        self._last = None
        self._env.release()
        self._env = KeptEnv(self._make, self._watch)

    close = new

    def __enter__(self) -> Assistant:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return () if self._last is None else self._last.messages

    def _attempt(self, messages: Sequence[Message]) -> Attempt:
        name = f"use/{self._begun}"
        return Attempt(
            task=Task(name, tuple(messages)),
            env=self._env,
            format=self._format,
            sampling=self._sampling,
            id=name,
            sample=0,
            seed=derive_seed("use", self._seed, self._begun),
            context=self._engine.max_length,
        )

    def _play(self, play: Play, attempt: Attempt, *, before: int) -> Answered:
        try:
            ((trajectory,),) = driver.run([attempt], lambda _: play.plan(), self._engine, workers=1)
        except BaseException:  # such as Ctrl-C, with a tool still at work in a thread: what it does there is lost
            self._env.release()
            self._env = KeptEnv(self._make, self._watch)
            raise
        if trajectory.ending.kind in ("completed", "truncated") and len(trajectory.turns) > before:
            self._last = trajectory
        return answered_by(trajectory, before=before)


def _engine(model: Any, format: ChatFormat | None, device: str) -> tuple[Engine, ChatFormat]:
    """Who samples, and the chat format that it speaks."""
    if hasattr(model, "sample") and hasattr(model, "max_length"):
        if format is None:
            raise InputError("an engine does not know its chat format: pass format=, such as load(...).format")
        return model, format
    policy = load(model, format=format)
    return LocalEngine(policy.model, device=device), policy.format


def _messages(said: Said) -> list[Message]:
    """What was said, as messages."""
    if isinstance(said, str):
        return [Message("user", said)]
    found = [one if isinstance(one, Message) else _message(one, k) for k, one in enumerate(said)]
    if not found or found[-1].role != "user":
        last = f"the last message is of {found[-1].role}" if found else "there is no message"
        raise InputError(f"{last}: a conversation is handed over with the user's turn last")
    return found


def _message(said: Any, place: int) -> Message:
    if not isinstance(said, Mapping) or set(said) != {"role", "content"} or not isinstance(said["content"], str):
        raise InputError(
            f"message {place} is not valid: give text, handaxe.Message(role, content), or "
            '{"role": "user", "content": "..."}; calls and replies of earlier turns are Messages'
        )
    if said["role"] not in ("system", "user", "assistant"):
        raise InputError(f"message {place} has the role {said['role']!r}; give system, user or assistant")
    return Message(said["role"], said["content"])
