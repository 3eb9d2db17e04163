"""Expert tools, answered by a rule or by auxiliary policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.protocols import Env
from handaxe.core.records import Message, ParsedTurn, Task
from handaxe.core.requests import AuxRequest
from handaxe.envs.aux_work import AuxWork, AuxWorkEnv
from handaxe.ops.ask_aux import ask_aux
from handaxe.tools.ask import PolicyAnswer

__all__ = ["AskedExperts", "ExpertAnswers"]


ExpertAnswers = Callable[[str, str], PolicyAnswer]
"""(name of the tool, question) -> answer."""


class AskedExperts(AuxWorkEnv):
    """Environment with expert tools that auxiliary policies answer.

        call TOOL(question) -> request (question) to the auxiliary policy roles[TOOL] -> its text is the tool's answer

    A rule answers for tools without an auxiliary policy. A token of an asked model is a byte of the text, plus one for
    the end, as for programs: prices of one task compare all experts. Equal questions to a tool have equal answers.

    Args:
        make: answers of the tools -> environment with the tools.
        task: of the rollout.
        roles: tool -> name of the auxiliary policy.
        rule: answers without a model.

    Example:
        small {"question": "7*8"} with roles {"small": "small"} and such a policy -> its reply "56", 3 tokens

    Paper: arXiv:2511.21689 (ToolOrchestra) and arXiv:2506.09033 (Router-R1), models as tools.
    Differs: one question and one text, without tools of the asked model.
    """

    def __init__(
        self, make: Callable[[ExpertAnswers], Env], task: Task, *, roles: Mapping[str, str], rule: ExpertAnswers
    ):
        self.roles, self.rule = roles, rule
        self.answers: dict[tuple[str, str], PolicyAnswer] = {}
        super().__init__(make(self._answer), task)

    def work(self, turn: ParsedTurn) -> AuxWork:
        """Ask the models for each new question of the turn, and execute the turn."""
        for call in turn.calls:
            role, question = self.roles.get(call.name, ""), call.arguments.get("question")
            if role not in self.models or not isinstance(question, str) or not question.strip():
                continue
            key = call.name, question.strip()
            if key not in self.answers:
                text = (yield from ask_aux(AuxRequest(role, (Message("user", key[1]),)))).text.strip()
                self.answers[key] = PolicyAnswer(text, 0, len(text.encode(errors="replace")) + 1)
        return (yield turn)

    def snapshot(self) -> Any:
        return super().snapshot(), dict(self.answers)

    def restore(self, state: Any) -> None:
        inner, answers = state
        super().restore(inner)
        self.answers = dict(answers)

    def _answer(self, tool: str, question: str) -> PolicyAnswer:
        return self.answers[tool, question] if (tool, question) in self.answers else self.rule(tool, question)
