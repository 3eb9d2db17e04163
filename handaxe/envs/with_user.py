"""Environment wrapper with a simulated user, who speaks between the policy's turns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply
from handaxe.envs.aux_work import AuxWork, AuxWorkEnv
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.ops.ask_aux import ask_aux
from handaxe.ops.seeds import derive_seed

__all__ = ["STOP", "USER", "User", "UserEnv", "with_user"]

STOP = "###STOP###"
"""A text of the user with this word ends the conversation."""
USER = "user"


class User(NamedTuple):
    """Simulated user of a conversation.

    The view of a user has the user's texts as assistant messages, the policy's as user messages, and no calls or
    replies of tools.

    rule     (task, view, seed) -> next text; a text with `STOP` ends the rollout
    ask      (task, view, chat of the model) -> request to an auxiliary policy that speaks instead of the rule, such as
             one of `asking.conversation_question`; None: no model can speak
    opening  task -> first text of the user; None: the last opening message is the user's
    role     name of the auxiliary policy
    """

    rule: Callable[[Task, Sequence[Message], int], str]
    ask: Callable[[Task, Sequence[Message], AuxChat], AuxRequest] | None = None
    opening: Callable[[Task], str] | None = None
    role: str = USER


class UserEnv(AuxWorkEnv):
    """Base class of environments with a user: turns with calls go to the inner environment, texts to the user.

        turn with calls, well formed or not     reply of the inner environment
        any other turn                          return value of heard(turn)

    Raises:
        InputError: an inner environment that asks auxiliary policies.

    Example:
        heard: return EnvReply((Message("user", "And 3*3?"),)); yield

    Idea: a conversation has two listeners, tools and user, and the form of a turn decides between them.
    """

    def work(self, turn: ParsedTurn) -> AuxWork:
        if turn.calls or turn.errors:
            return (yield turn)
        return (yield from self.heard(turn))

    def heard(self, turn: ParsedTurn) -> AuxWork:
        """Return the work after a text for the user; a subclass overrides the method."""
        return (yield turn)


def with_user(env: EnvFactory, user: User) -> EnvFactory:
    """Wrap an environment: a user replies to every turn of the policy without a call.

        turn with calls                reply of `env`
        text, the user goes on         a user message
        text, the user ends (`STOP`)   the turn goes to `env`, and the rollout ends with its reply and the user's text

    `env` sees no text before the last one, so that its report is that of the last answer. If the rollout has an
    auxiliary policy with the name of the role, this model is the user, and its turns are in the record
    (`Trajectory.aux_turns`). A model that fails, or twice gives no text, ends the rollout as infra_error: no rule
    replaces it.

    Args:
        env: environment to wrap, without requests to auxiliary policies, such as `tool_chat`.
        user: its rule draws by derive_seed(seed of the policy's turn, role); equal seeds give equal conversations.

    Returns:
        An EnvFactory, `protocols.Bounded` if `env` is. Facts and report have "user_replies", texts of the user after
        the opening, and the report "user_ended". The turn limit of the rollout bounds the conversation.

    Raises:
        InputError: when made, an inner environment with requests of its own; when opened, a model is to be the user,
            and the user has no `ask`.

    Example:
        user = User(lambda task, view, seed: "Are you sure?" if len(view) == 2 else STOP)
        question "2*7=?": "14" -> "Are you sure?"; "14" -> "###STOP###", and the rollout is completed

    Idea: simulated users of tau-bench (arXiv:2406.12045), around any environment of tools.
    """

    def factory(task: Task) -> _WithUser:
        return _WithUser(env(task), task, user)

    return inherit_bound(factory, env)


class _WithUser(UserEnv):
    """Environment of `with_user`."""

    def __init__(self, env: Env, task: Task, user: User):
        super().__init__(env, task)
        self.user = user
        self.view: list[Message] = []
        self.ended = False

    def on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        super().on_open(aux_policies=aux_policies, max_turns=max_turns)
        if self.user.role in aux_policies and self.user.ask is None:
            raise InputError(
                f"task {self.task.id!r} has the auxiliary policy {self.user.role!r}, and its user no request to a "
                "model: give User(ask=...), or leave out the policy"
            )

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, tools = super().start()
        if self.user.opening is not None:
            messages = (*messages, Message("user", self.user.opening(self.task)))
        self.view = [Message("assistant", messages[-1].content)]
        return messages, tools

    def heard(self, turn: ParsedTurn) -> AuxWork:
        """Let the user reply; the inner environment receives the last text."""
        self.view.append(Message("user", turn.text))
        text = yield from self._text()
        self.view.append(Message("assistant", text))
        self.ended = STOP in text
        reply: EnvReply = (yield turn) if self.ended else EnvReply()
        facts = {**reply.facts, "user_replies": self._replies()}
        said = (*reply.messages, Message("user", text))
        return reply._replace(messages=said, done=reply.done or self.ended, facts=facts)

    def report(self) -> Mapping[str, Any]:
        return {**super().report(), "user_replies": self._replies(), "user_ended": self.ended}

    def snapshot(self) -> Any:
        return super().snapshot(), tuple(self.view), self.ended

    def restore(self, state: Any) -> None:
        inner, view, self.ended = state
        super().restore(inner)
        self.view = list(view)

    def _text(self) -> Generator[AuxRequest, ParsedTurn, str]:
        role, view = self.user.role, tuple(self.view)
        if role not in self.models or self.user.ask is None:
            return self.user.rule(self.task, view, derive_seed(self.seed, role))
        return (yield from ask_aux(self.user.ask(self.task, view, self.models[role]))).text.strip()

    def _replies(self) -> int:
        return sum(one.role == "assistant" for one in self.view[1:])
