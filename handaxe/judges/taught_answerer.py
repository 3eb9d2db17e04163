"""A copy of the policy that answers questions, fine-tuned once on labelled ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import SHORT, PolicyAnswerer, place_question
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine, StageContext
from handaxe.core.records import Message, RatedGroup, Trajectory
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

__all__ = ["TaughtAnswerer"]


class TaughtAnswerer:
    """Answers questions with labels by likelihood, also about images; its model starts as a copy of the policy.

    List it among the learners of a run, so that checkpoints hold its weights; it learns nothing there.
    `methods.teach_judge` makes the stage that teaches it. `desk` answers the questions of a judge, with any mass on the
    labels.

    Args:
        format: chat format of the policy; None until `bind`.
        name: in records, such as "trained".
        epochs: passes over the labelled questions.
        learning_rate: of AdamW.

    Raises:
        InputError: a question before `bind` or without a format.

    Example:
        answerer.teach(site, asks, ["yes", "no", ...]); answerer.answer([ask])[0].label_logp

    Idea: supervised fine-tuning of a generative verifier on verdicts.
    """

    def __init__(self, format: ChatFormat | None = None, *, name: str, epochs: int = 3, learning_rate: float = 1e-3):
        self.desk = AskDesk(self, min_coverage=0.0)
        self._second = AuxLearner()
        self._known_format, self._name = format, name
        self._epochs, self._learning_rate = epochs, learning_rate
        self._known: PolicyAnswerer | None = None

    @property
    def terse(self) -> bool:
        return self._second.engine.max_length < SHORT

    @property
    def made(self) -> TaughtAnswerer:
        """This answerer, for `methods.teach_judge`."""
        return self

    def bind(self, engine: Engine, format: ChatFormat) -> None:
        """Copy the policy and keep its chat format, unless there are both."""
        self._known_format = self._known_format or format
        self.begin(engine)

    def begin(self, engine: Engine) -> None:
        """Copy the policy, unless there is a copy."""
        self._second.begin(engine)

    def fingerprint(self) -> str:
        return self._answerer().fingerprint()

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        return self._answerer().answer(asks)

    def teach(self, site: StageContext, asks: Sequence[Ask], labels: Sequence[str]) -> list[dict[str, float]]:
        """Fine-tune the copy on questions and the first form of their labels; questions that do not fit are left out.

        Raises:
            InputError: no question fits.
        """
        lessons = list[Trajectory]()
        for number, (ask, label) in enumerate(zip(asks, labels, strict=True)):
            words = ask.prompt.prefix + ask.prompt.labels[label][0]
            answer = Message("assistant", words)
            room = self._second.engine.max_length - len(self._format.encode_turn(answer, ()))
            placed = place_question(ask, self._format, room=room)
            if placed is not None:
                lessons.append(trajectory_from_messages(self._format, [*placed.messages, answer], id=f"label/{number}"))
        if not lessons:
            raise InputError(f"none of {len(asks)} questions fits into the judge's context, so it cannot be taught")
        source = scripted(trajectories=lessons)
        stage = teach(source=source, epochs=self._epochs, learning_rate=self._learning_rate)
        return list(stage(site._replace(engine=self._second.engine)))

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn nothing during training; the records of `desk` are dropped."""
        self.desk.take_calls()
        return self._second.learn(groups, step=step)

    def state_dict(self) -> dict[str, Any]:
        return self._second.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._second.load_state_dict(state)

    @property
    def _format(self) -> ChatFormat:
        if self._known_format is None:
            raise InputError(f"the judge {self._name} has no chat format: teach it first, or give it a format")
        return self._known_format

    def _answerer(self) -> PolicyAnswerer:
        engine = self._second.engine
        if self._known is None or self._known.engine is not engine:
            self._known = PolicyAnswerer(engine, self._format, name=self._name)
        return self._known
