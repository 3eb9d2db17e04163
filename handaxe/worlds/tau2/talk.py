"""Environment of tau2: an agent with the carrier's tools and, except in solo mode, a user with a phone."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from handaxe.core.errors import Failed
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply
from handaxe.envs.aux_work import AuxWork
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.with_user import USER, UserEnv
from handaxe.ops.ask_aux import ask_aux
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool, tool
from handaxe.worlds.tau2.customer_requests import Request, RequestProgress, customer_text, requests
from handaxe.worlds.tau2.domains import Domain, package
from handaxe.worlds.tau2.orders import BRIEF_TOOLS, short_order
from handaxe.worlds.tau2.phone import ACTIONS, CHECK, STATUS, requested_actions, short
from handaxe.worlds.tau2.state import ServiceState, Side, gold_actions, kit_tools, raw_task, same_call
from handaxe.worlds.tau2.user import OUT_OF_SCOPE, STOP, WORRIES, Customer, ended, manner, rule

__all__ = ["talk"]


def talk(
    domain: Domain, *, alone: bool, brief: bool, by: str = "", stepwise: bool = False
) -> Callable[[Sequence[Any]], EnvFactory]:
    """Create environments of a domain.

    Reply to a turn of the agent:

        calls        executed by the carrier's tools (solo: and by the phone's); text beside them is dropped
        text, solo   the rollout ends
        text         the user reads the text, may use the phone, and replies, or ends the conversation

    Args:
        domain: domain of the package.
        alone: solo mode, without a user; the agent has the phone.
        brief: a single look at the phone with a one-line reply, replies of one sentence, and no tools of the carrier,
            for a policy with 512 tokens of context; with `stepwise` three tools of the shop with replies of one line.
        by: name of the user's engine; "" is the rule, unless the rollout has an auxiliary policy "user".
        stepwise: the user makes the requests of `requests.requests` in turn.

    Returns:
        (further tools) -> EnvFactory. Its report is tool_chat's, with the result of `ServiceState.judge`, the word with
        which the user "ended" the conversation, "" if the agent did, and the "persona" of the user.
    """

    def env(tools: Sequence[Any]) -> EnvFactory:
        return lambda task: _Talk(task, domain, tuple(tools), alone=alone, brief=brief, by=by, stepwise=stepwise)

    return env


class _Desk:
    """Stateless owner of a rollout's tools; the state is the rollout's."""

    def __init__(self, call: Callable[[Side, str, Mapping[str, Any]], str]):
        self.call = call

    def snapshot(self) -> None:
        return None

    def restore(self, state: None) -> None:
        del state


@tool(name="phone", timeout=None)
def _act(self, action: str) -> str:
    """Do one thing with the phone, such as reboot_device or check_phone."""
    wanted = [one for one in requested_actions(action) if action.strip() in (*ACTIONS, CHECK)]
    if not wanted:
        raise Failed(f"no such action; there are {', '.join((CHECK, *ACTIONS))}")
    return self.call("user", wanted[0].tool, wanted[0].arguments)


class _Talk(UserEnv):
    """Environment of `talk`."""

    def __init__(
        self,
        task: Task,
        domain: Domain,
        tools: tuple[Any, ...],
        *,
        alone: bool,
        brief: bool,
        by: str,
        stepwise: bool,
    ):
        scenario = str(task.metadata.get("scenario"))
        self.raw, self.gold = raw_task(domain, scenario), gold_actions(domain, scenario)
        self.state, self.brief = ServiceState(domain, scenario), brief
        self.by = by
        self.said: list[str] = []
        self.over, self.looked = "", False
        desk = _Desk(self._carry)
        kits = kit_tools(domain)
        kit: tuple[Tool, ...] = kits["assistant"] + (kits["user"] if alone else ())
        if brief and stepwise:
            kit = tuple(one for one in kit if one.schema.name in BRIEF_TOOLS)
        elif brief:
            kit = (_act,) if alone else ()
        self.progress = RequestProgress(requests(domain, scenario)) if stepwise else None
        super().__init__(tool_chat([*tools, lambda: [one.__get__(desk, _Desk) for one in kit]])(task), task)
        self.user: Customer | None = None
        self.persona = task.metadata["persona"]
        if not alone:
            self.manner = manner(self.persona)
            offered = [one.schema for one in kits["user"]]
            prompt = _short_prompt(self.progress.asked) if brief and self.progress else _prompt(domain, self.raw)
            self.user = Customer(prompt, task.messages[-1].content, offered, self._phone)

    def on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        """Let an auxiliary policy "user" play the user."""
        super().on_open(aux_policies=aux_policies, max_turns=max_turns)
        if USER in aux_policies and self.user is not None:
            self.by = USER

    def heard(self, turn: ParsedTurn) -> AuxWork:
        """Process a text of the agent."""
        self.said.append(turn.text)
        if self.user is None:
            return EnvReply(done=True)
        self.user.hear(turn.text)
        text = (yield from self._model_text(self.user)) if self.by else self._rule_text(self.user)
        self.over = ended(text)
        return self.transform_reply(EnvReply((Message("user", text),), done=bool(self.over)))

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        """Add facts for experts: number of completed reference calls in order; and whether the agent has seen the
        single look of brief worlds.
        """
        done = 0
        for call in self.state.calls:
            done += done < len(self.gold) and same_call(self.gold[done], call)
        more = self.progress.facts(self.state, self.said) if self.progress else {}
        return reply._replace(facts={**reply.facts, "done": done, "looked": self.looked, **more})

    def report(self) -> Mapping[str, Any]:
        found = {**super().report(), **self.state.judge(self.said), "ended": self.over, "persona": self.persona}
        return {**found, "progress": self.progress.share} if self.progress else found

    def snapshot(self) -> Any:
        view = self.user.view if self.user else ()
        rest = (self.over, self.looked, self.progress and self.progress.snapshot())
        return super().snapshot(), self.state.snapshot(), tuple(self.said), tuple(view), rest

    def restore(self, state: Any) -> None:
        inner, databases, said, view, (self.over, self.looked, progress) = state
        if self.progress:
            self.progress.restore(progress)
        super().restore(inner)
        self.state.restore(databases)
        self.said = list(said)
        if self.user:
            self.user.view = list(view)

    def _model_text(self, user: Customer) -> Generator[AuxRequest, ParsedTurn, str]:
        """Text of the user's engine, after its actions."""
        while True:
            turn = yield from ask_aux(AuxRequest(self.by, tuple(user.view), user.tools), calls=True)
            if turn.calls and user.acts >= MOST_ACTS:
                return OUT_OF_SCOPE
            text = user.act(turn)
            if text is not None:
                return text

    def _rule_text(self, user: Customer) -> str:
        """Text of the scripted user, after its actions."""
        rng = random.Random(derive_seed(self.seed, USER))
        if self.progress:
            text = customer_text(user.view, self.progress.asked, self.manner, rng)
            user.act(ParsedTurn(text))
            if text not in WORRIES:
                self.progress.turn_to_next(len(self.state.calls))
            return text
        while True:
            answer = user.act(rule(user.view, self.raw, self.manner, rng))
            if answer is not None:
                return answer

    def _phone(self, call: ToolCall) -> str:
        """Execute a call of the user; the reply is a result or an error."""
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
        if self.brief and self.progress:
            return short_order(reply)
        return reply if not self.brief or name in LOOKS else short(reply)


MOST_ACTS = 8
"""Consecutive turns with phone calls of an engine before the user gives up."""
LOOKS = ("check_status_bar", "run_speed_test", "can_send_mms")
"""Actions whose replies the agent never reads in a brief world."""


def _prompt(domain: Domain, raw: Mapping[str, Any]) -> str:
    """System prompt of an engine as the user; the rule reads the scenario itself."""
    guidelines = package(domain).guidelines
    told = raw["user_scenario"]["instructions"]
    parts = [f"{key}: {value}" for key, value in told.items() if value]
    if persona := raw["user_scenario"].get("persona"):
        parts.append(f"persona: {persona.strip()}")
    rules = guidelines.tools if domain == "telecom" else guidelines.speech
    return f"{rules}\n\n<scenario>\n" + "\n".join(parts) + "\n</scenario>"


def _short_prompt(asked: Sequence[Request]) -> str:
    """System prompt of an engine as the customer of a brief world, for a short context: all requests.

    Example:
        one request "#W2378156 status?" -> "You are a customer. Ask in turn: #W2378156 status?. Then say ###STOP###"
    """
    return f"You are a customer. Ask in turn: {'; '.join(one.said for one in asked)}. Then say {STOP}"
