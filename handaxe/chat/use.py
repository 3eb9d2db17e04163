"""Chat with a policy: tool calls and chat format as in training.

chat = hx.use("runs/first", [convert])
print(chat("77 yd in inches?"))         a new conversation
print(chat.more("and in feet?"))        the next question of the conversation
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from handaxe import engines
from handaxe.chat.persistent_env import PersistentEnv, Watch
from handaxe.chat.result import ChatAnswer, last_answer
from handaxe.chat.run_facts import run_facts
from handaxe.chat.stream_turn import OnText, StreamedEngine
from handaxe.core.errors import InputError
from handaxe.core.model_api import Model
from handaxe.core.protocols import ChatFormat, Engine, EnvFactory
from handaxe.core.records import Message, Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import Policy, load
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts import driver
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.continue_trajectory import continue_trajectory
from handaxe.tools.tool_owners import ToolSource

__all__ = ["Assistant", "use"]

MAX_TOKENS = 256
Question = str | Sequence[Message | Mapping[str, Any]]


def use(
    model: str | Path | Policy | Model | Engine,
    tools: Sequence[ToolSource | Sequence[ToolSource]] | None = None,
    *,
    format: ChatFormat | None = None,
    system: str | None = None,
    temperature: float = 0.0,
    max_turns: int = 8,
    max_tokens: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    watch: Watch | None = None,
    on_text: OnText | None = None,
) -> Assistant:
    """Load a policy and its tools for a chat.

    Args:
        model: argument of `handaxe.load`, such as the folder of a run; a loaded policy; or a model or an engine with
            its `format`.
        tools: argument of `tool_chat`; None: the tools of the run, which must be the run of a method.
        format: replaces the chat format of the run or the model.
        system: system message of every conversation; None: the system message of the run; "" for none.
        temperature: of sampling, >= 0; 0 is greedy decoding.
        max_turns: turns per question, >= 1.
        max_tokens: tokens per turn, >= 1; None: as in training, 256 if unknown.
        seed: of sampling with a temperature above 0.
        device: of the model; ignored for an engine.
        watch: called in another thread with each turn that has calls, before their execution and with the reply
            afterwards.
        on_text: called with each piece of text while a turn is sampled, without calls; needs an engine with streams.

    Raises:
        InputError: the model does not exist, the tools are unknown, or an argument is out of range.

    Example:
        str(use("runs/first", [calculator])("12*34=?"))
    """
    if max_turns < 1 or not (temperature >= 0 and math.isfinite(temperature)):
        raise InputError(f"max_turns is {max_turns} and temperature {temperature}; give 1 or more turns, 0 or more")
    facts = run_facts(model)
    env = facts.env() if tools is None else tool_chat(tools)
    length = max_tokens if max_tokens is not None else facts.max_tokens or MAX_TOKENS
    if length < 1:
        raise InputError(f"max_tokens is {length}; give 1 or more")
    opening = facts.system if system is None else (Message("system", system),) if system else ()
    engine, chat_format = _engine(model, format, device)
    if on_text is not None and not hasattr(engine, "stream"):
        raise InputError(f"{type(engine).__name__} has no streams: leave on_text out")
    sampling = Sampling(temperature=temperature, max_tokens=length)
    rules = Rules(max_turns=max_turns)
    sampler = engine if on_text is None else StreamedEngine(engine, chat_format, on_text)
    return Assistant(sampler, chat_format, env, opening=opening, sampling=sampling, rules=rules, seed=seed, watch=watch)


class Assistant:
    """A policy with tools: a call with a question starts a new conversation, `more` continues the conversation.

    Tools keep their state during a conversation. A failed question (a tool crashed, the policy began the turn of
    another role, the context was full) is removed from the conversation: `more` continues from the state before. Not
    thread-safe.

    Args:
        engine: samples.
        format: chat format.
        env: makes the environment of a conversation.
        opening: first messages of every conversation.
        sampling, rules: sampling parameters and limits of a question.
        seed: of sampling. Equal questions in equal order get equal answers.
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
        self._env = PersistentEnv(env, watch)
        self._last: Trajectory | None = None

    def __call__(self, question: Question) -> ChatAnswer:
        """Start a new conversation.

        Args:
            question: text, or the messages of a conversation that ends with a user message: each a Message, or
                {"role": ..., "content": ...}. A system message at the start replaces `opening`.

        Raises:
            InputError: a message is invalid, or the chat format refuses the messages.
        """
        messages = _messages(question)
        opening = () if messages[0].role == "system" else self._opening
        self.new()
        self._begun += 1
        attempt = self._attempt((*opening, *messages))
        return self._play(Play(attempt, self._rules), attempt, before=0)

    def more(self, question: Question) -> ChatAnswer:
        """Continue the conversation, or start a new one; arguments as for a new conversation."""
        last = self._last
        if last is None:
            return self(question)
        attempt = self._attempt(last.task.messages)
        before = len(last.turns)
        rules = Rules(max_turns=before + self._rules.max_turns)
        return self._play(continue_trajectory(last, _messages(question), attempt, rules), attempt, before=before)

    def new(self) -> None:
        """End the conversation and release the tools."""
        self._last = None
        self._env.release()
        self._env = PersistentEnv(self._make, self._watch)

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

    def _play(self, play: Play, attempt: Attempt, *, before: int) -> ChatAnswer:
        try:
            ((trajectory,),) = driver.run([attempt], lambda _: play.plan(), self._engine, workers=1)
        except BaseException:  # such as Ctrl-C during a tool call in a thread: the state of the tool is lost
            self._env.release()
            self._env = PersistentEnv(self._make, self._watch)
            raise
        if trajectory.ending.kind in ("completed", "truncated") and len(trajectory.turns) > before:
            self._last = trajectory
        return last_answer(trajectory, before=before)


def _engine(model: Any, format: ChatFormat | None, device: str) -> tuple[Engine, ChatFormat]:
    """The engine and the chat format of a model."""
    if hasattr(model, "sample") and hasattr(model, "max_length"):
        if format is None:
            raise InputError("an engine does not know its chat format: pass format=, such as load(...).format")
        return model, format
    policy = load(model, format=format)
    return engines.LocalEngine(policy.model, device=device), policy.format


def _messages(question: Question) -> list[Message]:
    """Convert a question to messages."""
    if isinstance(question, str):
        return [Message("user", question)]
    found = [one if isinstance(one, Message) else _message(one, k) for k, one in enumerate(question)]
    if not found or found[-1].role != "user":
        last = f"the last message has the role {found[-1].role}" if found else "there is no message"
        raise InputError(f"{last}: the last message of a conversation must be of the user")
    return found


def _message(value: Any, index: int) -> Message:
    if not isinstance(value, Mapping) or set(value) != {"role", "content"} or not isinstance(value["content"], str):
        raise InputError(
            f"message {index} is not valid: give text, handaxe.Message(role, content), or "
            '{"role": "user", "content": "..."}; pass tool calls and replies as Message'
        )
    if value["role"] not in ("system", "user", "assistant"):
        raise InputError(f"message {index} has the role {value['role']!r}; give system, user or assistant")
    return Message(value["role"], value["content"])
