"""Writer of tips: a rule or a language model, with figures of what was written and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import metrics_of
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.records import RatedGroup, Sampling, Trajectory
from handaxe.curricula.tip_pool import tell_calls
from handaxe.judges.question_fields import FIELDS
from handaxe.papers.agent_evolver.text_role import TextRole

__all__ = ["TipWriter", "read_tip"]

SAMPLING = Sampling(temperature=0.0, max_tokens=64)
HINT = "hint"


def read_tip(answer: AskAnswer) -> str:
    """Read a tip: the text on one line.

    Example:
        " Search the\\n boss first. " -> "Search the boss first.";  a text without a word -> unreadable

    Paper: arXiv:2511.10395 (AgentEvolver), experience as short natural language.
    """
    text = " ".join(answer.text.split())
    if not any(one.isalnum() for one in text):
        raise Unreadable("the answer has no word")
    return text


class TipWriter:
    """Writes a tip of a finished rollout; also a learner that learns nothing and reports.

        hinted  share of the step's rollouts that read a tip
        tips    written since the last step; for a model also the counts of `asking.desk.metrics_of`

    The model reads task and rollout as quoted data, and whether the rollout is correct. An answer that cannot be read
    gives no tip.

    Args:
        role: the rule, `curricula.tip_pool.tell_calls`, or a model.

    Raises:
        InputError: while telling, a model that is away or not bound.

    Example:
        TipWriter(TextRole("rule", name="writer")).tell(rollout, True)
        -> "In '2*7=?': It calls calculator(expression='2*7')."

    Paper: arXiv:2511.10395 (AgentEvolver), self-navigating: a model summarises rollouts as experience.
    Unconfirmed: the wording of the prompt.
    """

    def __init__(self, role: TextRole):
        self._role = role
        self._tips = 0

    def tell(self, trajectory: Trajectory, right: bool) -> str:
        """The tip of a rollout, "" for none; `right` for a correct one."""
        text = tell_calls(trajectory, right) if self._role.is_rule else self._asked(trajectory, right)
        self._tips += bool(text)
        return text

    def _asked(self, trajectory: Trajectory, right: bool) -> str:
        last = len(trajectory.turns) - 1
        fields = {
            "outcome": "correct" if right else "incorrect",
            "task": FIELDS["task"](trajectory, last, None),
            "rollout": FIELDS["conversation"](trajectory, last, None) if last >= 0 else "",
        }
        prompt = find_prompt("agent_evolver/tip", terse=self._role.terse)
        ask = Ask(prompt, fields, role=self._role.name, about=(trajectory.id, -1, ""), sampling=SAMPLING)
        (found,) = self._role.ask([ask], read_tip)
        return found or ""

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        del step
        hinted = [bool(one.notes.get(HINT)) for rated in groups for one in rated.group]
        found = {"hinted": float(np.mean(hinted)) if hinted else 0.0, "tips": float(self._tips)}
        self._tips = 0
        return found if self._role.is_rule else {**found, **metrics_of(self._role.take_calls())}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
