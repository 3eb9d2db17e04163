"""Rollout strategy: a graph of tool inertia makes some calls in the policy's place."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, ToolCall, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, Completion
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph
from handaxe.papers.auto_tool.parameter_edges import ExecutedCall, ParameterGraph
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.play import Request

__all__ = [
    "ANSWER",
    "Inertia",
    "START",
    "executed_calls",
    "inertial_calls",
    "inertial_turns",
    "learn_trajectory",
    "nodes_of",
]

START, ANSWER = "start", "answer"
"""Nodes besides the tools: the begin, and a text of the policy."""
INERTIAL = "inertial"
"""Key of the notes: numbers of the turns that the graph made."""
MOST_CONTEXT = 50
"""Characters of the context, the last ones."""


@dataclass
class Inertia:
    """Graph of tools and parameters, and limits of its calls.

    threshold    theta: an inertial call needs a larger score; 0.1 in the paper
    share        largest share of inertial calls among all turns; 0.3 in the paper
    in_a_row     allow an inertial call right after another one; False in the paper
    """

    tools: InertiaGraph
    parameters: ParameterGraph
    threshold: float = 0.1
    share: float = 0.3
    in_a_row: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InputError(f"share is a part of the turns from 0 to 1, not {self.share}")

    def call(
        self,
        schemas: Sequence[ToolSchema],
        path: Sequence[str],
        calls: Sequence[ExecutedCall],
        *,
        goal: str,
        context: str,
    ) -> ToolCall | None:
        """Return the next call if the best score is above theta and all its arguments can be filled, else None.

        Args:
            schemas: offered tools.
            path: nodes so far.
            calls: executed calls.
            goal: last text of the user.
            context: text whose similarity with tools counts.
        """
        scores = self.tools.scores(path, context)
        best = max(scores, key=lambda tool: (scores[tool], tool), default="")
        schema = next((one for one in schemas if one.name == best), None)
        if schema is None or scores[best] <= self.threshold:
            return None
        arguments = self.parameters.fill(best, schema.parameters.get("required", ()), calls, goal=goal)
        return None if arguments is None else ToolCall(best, arguments)


def inertial_calls(*, inertia: Inertia, max_turns: int = 12) -> Rollout:
    """Let the graph make a turn in the policy's place where inertia is high.

    Before each turn the graph may propose a call. It is executed without a sample if the graph made less than `share`
    of the turns (this one included) and not the turn before. The graph does not change during a rollout; see
    `learn_trajectory`. notes["inertial"] lists the turns of the graph; their tokens have log-prob 0.

    Args:
        inertia: graph and limits.
        max_turns: of a rollout, both kinds together.

    Returns:
        A rollout strategy for a frozen policy.

    Example:
        share = 0.3: the fourth turn may be the first inertial one, since 1 / 4 <= 0.3 < 1 / 3

    Paper: arXiv:2511.14650 (AutoTool), section 4, with its limits: 30 % of the steps, never two in a row.
    Differs: the context is the end of the last message, since the tiny policy writes no thoughts.
    """

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, Rules(max_turns=max_turns))
        return [(yield from play.run(_turns(play, inertia)))]

    return rollout


def _turns(play: Play, inertia: Inertia) -> Generator[Request, Any, Ending]:
    made: list[int] = []
    play.notes[INERTIAL] = made
    while True:
        call, number = _proposed(play, inertia, made), len(play.turns)
        if call is not None and (over := play.exhausted()) is not None:
            return over
        if call is None:
            ending = yield from play.turn()
        else:
            ids = play.attempt.format.encode_turn(Message("assistant", "", (call,)), play.tools)
            zeros = [0.0] * len(ids)
            play.notes[INERTIAL] = made = [*made, number]
            ending = yield from play.append_turn(Completion(ids, zeros, zeros, [0] * len(ids), "stop"))
        if ending is not None:
            return ending


def _proposed(play: Play, inertia: Inertia, made: Sequence[int]) -> ToolCall | None:
    turns = len(play.turns)
    if len(made) + 1 > inertia.share * (turns + 1) or (made and made[-1] == turns - 1 and not inertia.in_a_row):
        return None
    one = play.partial_trajectory()
    goal = next((message.content for message in reversed(one.messages) if message.role == "user"), "")
    last = one.messages[-1].content
    context = last if last == goal else f"{goal} {last}"
    return inertia.call(play.tools, nodes_of(one), executed_calls(one), goal=goal, context=context[-MOST_CONTEXT:])


def executed_calls(one: Trajectory) -> list[ExecutedCall]:
    """List the executed calls of a trajectory that succeeded, with their replies."""
    found = []
    for turn in one.turns:
        replies = {reply.call_id: reply for reply in turn.replies}
        for call in turn.parsed.calls:
            reply = replies.get(call.id)
            if reply is not None and reply.status == "ok":
                found.append(ExecutedCall(call.name, call.arguments, reply.content))
    return found


def nodes_of(one: Trajectory) -> list[str]:
    """List the nodes of a trajectory: "start", then the tool of each call, and "answer" for a text."""
    return [START, *(name for turn in _turn_nodes(one) for name in turn)]


def inertial_turns(one: Trajectory) -> list[int]:
    """Return the numbers of the turns that the graph made."""
    return list(one.notes.get(INERTIAL, ()))


def learn_trajectory(inertia: Inertia, one: Trajectory) -> None:
    """Let the graph learn from a finished trajectory: paths, feedback and parameter edges.

    The path is cut at inertial turns. A turn succeeds if all its replies are ok.
    """
    own = set(inertial_turns(one))
    path = [START]
    whole = [START]
    for number, names in enumerate(_turn_nodes(one)):
        good = all(reply.status == "ok" for reply in one.turns[number].replies) and not one.turns[number].parsed.errors
        for name in names:
            inertia.tools.feedback([*whole, name], success=good, inertial=number in own)
            whole.append(name)
        if number in own:
            inertia.tools.learn(path)
            path = []
        path += names
    inertia.tools.learn(path)
    inertia.parameters.observe(executed_calls(one))


def _turn_nodes(one: Trajectory) -> list[list[str]]:
    """Nodes of each turn."""
    return [[call.name for call in turn.parsed.calls] or [ANSWER] * (not turn.parsed.errors) for turn in one.turns]
