"""Auxiliary policy of a run, with weights in the run's checkpoints."""

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Copyable, Engine, StatefulEngine
from handaxe.core.records import RatedGroup

__all__ = ["AuxLearner"]


class AuxLearner:
    """Learner that keeps an auxiliary policy: `train(learners=[...])` saves its weights, moments and reference.

    The policy's rollouts do not train it; stages do (`papers.agent0.reinforce_second`). Implements
    `core.protocols.Learner` and `core.protocols.FromPolicy`.

    Args:
        engine: of the auxiliary policy; None copies the policy at the first call of `begin`.
        reference: True: the copy keeps its first weights as reference model.
        clip_norm: of the copy.

    Raises:
        InputError: `engine` is read before `begin`, or the engine cannot be copied or saved.
    """

    def __init__(self, engine: Engine | None = None, *, reference: bool = False, clip_norm: float = 1.0):
        self._engine = None if engine is None else _checked(engine)
        self._reference = reference
        self._clip_norm = clip_norm

    @property
    def engine(self) -> StatefulEngine:
        """Engine that samples and trains the auxiliary policy."""
        if self._engine is None:
            raise InputError(
                "this auxiliary policy has no model yet: list it in learners= of train, or give it an engine"
            )
        return self._engine

    def begin(self, engine: Engine) -> None:
        """Copy the policy, unless a model exists already."""
        if self._engine is None:
            if not isinstance(engine, Copyable):
                raise InputError(
                    f"{type(engine).__name__} cannot be copied, so an auxiliary policy cannot start as the policy: "
                    "give it an engine; see core.protocols.Copyable"
                )
            self._engine = engine.twin(reference=self._reference, clip_norm=self._clip_norm)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn nothing."""
        del groups, step
        return {}

    def state_dict(self) -> dict[str, Any]:
        return self.engine.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.engine.load_state_dict(state)


def _checked(engine: Any) -> StatefulEngine:
    if not (hasattr(engine, "state_dict") and hasattr(engine, "load_state_dict")):
        raise InputError(f"{type(engine).__name__} cannot be saved in checkpoints; see core.protocols.StatefulEngine")
    kept: StatefulEngine = engine
    return kept
