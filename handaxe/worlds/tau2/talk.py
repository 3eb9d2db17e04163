"""The environment of tau2: an agent with the carrier's tools and, unless it is alone, a user with a phone."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.errors import Failed
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, ToolSchema
from handaxe.core.requests import Asked, EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.tools.deadline import Threads
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.tau2.package import Domain, package
from handaxe.worlds.tau2.phone import ACTIONS, CHECK, STATUS, asked_for, short
from handaxe.worlds.tau2.state import ServiceState, Side, gold_actions, kit_tools, raw_task, same_call
from handaxe.worlds.tau2.user import OUT_OF_SCOPE, User, ended, manner, rule

__all__ = ["talk"]


def talk(domain: Domain, *, alone: bool, brief: bool, by: str = "") -> Callable[[Sequence[Any]], EnvFactory]:
    """Make what makes environments of a domain.

    One turn of the agent is answered so:

        calls        carried out by the carrier's tools (alone: and by the phone's); text beside them is not heard
        text, alone  the attempt is over
        text         the user hears it, perhaps does something with the phone, and answers, or ends the conversation

    Args:
        domain: of the package.
        alone: whether there is no user, and the agent has the phone in its hands.
        brief: one look at the phone that tells all of it in a line, replies of one sentence, and none of the carrier's
            tools: what a policy with 512 tokens of context can read.
        by: the name of the engine that speaks for the user; "" is the rule.

    Returns:
        (further tools) -> EnvFactory. Its report is tool_chat's, with what `ServiceState.judge` says, the word with
        which the user "ended" it, "" where the agent did, and the "persona" of the user.
    """

    def env(tools: Sequence[Any]) -> EnvFactory:
        return lambda task: _Talk(task, domain, tuple(tools), alone=alone, brief=brief, by=by)

    return env


class _Desk:
    """What the tools of an attempt belong to. It keeps nothing: the state is the attempt's."""

    def __init__(self, call: Callable[[Side, str, Mapping[str, Any]], str]):
        self.call = call

    def snapshot(self) -> None:
        return None

    def restore(self, state: None) -> None:
        del state


@tool(name="phone", timeout=None)
def _act(self, action: str) -> str:
    """Do one thing with the phone, such as reboot_device or check_phone."""
    wanted = [one for one in asked_for(action) if action.strip() in (*ACTIONS, CHECK)]
    if not wanted:
        raise Failed(f"no such action; there are {', '.join((CHECK, *ACTIONS))}")
    return self.call("user", wanted[0].tool, wanted[0].arguments)


class _Talk:
    """Implements `slots.Env`, `slots.AsyncEnv` and `slots.Hears`."""

    def __init__(self, task: Task, domain: Domain, tools: tuple[Any, ...], *, alone: bool, brief: bool, by: str):
        scenario = str(task.metadata.get("scenario"))
        self.raw, self.gold = raw_task(domain, scenario), gold_actions(domain, scenario)
        self.state, self.brief = ServiceState(domain, scenario), brief
        self.by = by
        self.said: list[str] = []
        self.over, self.looked = "", False
        desk = _Desk(self._carry)
        kits = kit_tools(domain)
        kit: tuple[Tool, ...] = kits["assistant"] + (kits["user"] if alone else ())
        if brief:
            kit = (_act,) if alone else ()
        self.inner: Env = tool_chat([*tools, lambda: [one.__get__(desk, _Desk) for one in kit]])(task)
        self.user: User | None = None
        self.persona = task.metadata["persona"]
        if not alone:
            self.manner = manner(self.persona)
            offered = [one.schema for one in kits["user"]]
            self.user = User(_prompt(domain, self.raw), task.messages[-1].content, offered, self._phone)

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return self.inner.start()

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        if turn.calls or turn.errors:
            return self._with_facts(self.inner.step(turn, seed=seed))
        return self._heard(turn.text, seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        if turn.calls or turn.errors:
            return self._with_facts(await self.inner.astep(turn, seed=seed, threads=threads))  # type: ignore[attr-defined]
        return self._heard(turn.text, seed)

    def heard(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Go on after what the user's engine said or did."""
        del seed
        assert self.user is not None
        if turn.calls and self.user.acts >= MOST_ACTS:
            return self._answered(OUT_OF_SCOPE)
        answer = self.user.act(turn)
        return self._asks(self.user) if answer is None else self._answered(answer)

    def report(self) -> Mapping[str, Any]:
        return {**self.inner.report(), **self.state.judge(self.said), "ended": self.over, "persona": self.persona}

    def snapshot(self) -> Any:
        view = self.user.view if self.user else ()
        return self.inner.snapshot(), self.state.snapshot(), tuple(self.said), tuple(view), (self.over, self.looked)

    def restore(self, state: Any) -> None:
        inner, databases, said, view, (self.over, self.looked) = state
        self.inner.restore(inner)
        self.state.restore(databases)
        self.said = list(said)
        if self.user:
            self.user.view = list(view)

    def close(self) -> None:
        self.inner.close()

    def _heard(self, text: str, seed: int) -> EnvReply:
        """The agent spoke."""
        self.said.append(text)
        if self.user is None:
            return EnvReply(done=True)
        self.user.hear(text)
        if self.by:
            return self._asks(self.user)
        rng = random.Random(derive_seed(seed, "user"))
        answer: str | None = None
        while answer is None:
            answer = self.user.act(rule(self.user.view, self.raw, self.manner, rng))
        return self._answered(answer)

    def _asks(self, user: User) -> EnvReply:
        return self._with_facts(EnvReply(asks=Asked(self.by, tuple(user.view), user.tools)))

    def _answered(self, text: str) -> EnvReply:
        """The user spoke."""
        self.over = ended(text)
        return self._with_facts(EnvReply((Message("user", text),), done=bool(self.over)))

    def _phone(self, call: ToolCall) -> str:
        """A call of the user, who reads whatever comes of it."""
        try:
            return self._carry("user", call.name, call.arguments)
        except Failed as refused:
            return str(refused)

    def _carry(self, side: Side, name: str, arguments: Mapping[str, Any]) -> str:
        if self.brief and name == CHECK:
            self.looked = True
            device = self.state.env.user_tools.device
            return " ".join(f"{word} {read(device)}" for word, read in STATUS)
        reply = self.state.call(side, name, arguments)
        return reply if not self.brief or name in LOOKS else short(reply)

    def _with_facts(self, reply: EnvReply) -> EnvReply:
        """For experts: how many of the right calls were made, each after those before it; and whether the agent has
        seen what the one look of brief worlds tells."""
        done = 0
        for call in self.state.calls:
            done += done < len(self.gold) and same_call(self.gold[done], call)
        return reply._replace(facts={**reply.facts, "done": done, "looked": self.looked})


MOST_ACTS = 8
"""Turns in a row in which an engine may call the phone's tools before the user gives up."""
LOOKS = ("check_status_bar", "run_speed_test", "can_send_mms")
"""What the user looks at unseen; the agent never reads these replies in a brief world."""


def _prompt(domain: Domain, raw: Mapping[str, Any]) -> str:
    """What an engine in the user's place is told; the rule reads the scenario itself."""
    guidelines = package(domain).guidelines
    told = raw["user_scenario"]["instructions"]
    parts = [f"{key}: {value}" for key, value in told.items() if value]
    if persona := raw["user_scenario"].get("persona"):
        parts.append(f"persona: {persona.strip()}")
    rules = guidelines.tools if domain == "telecom" else guidelines.speech
    return f"{rules}\n\n<scenario>\n" + "\n".join(parts) + "\n</scenario>"
