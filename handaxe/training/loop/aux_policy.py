"""A policy beside the run's own, whose weights are in the run's checkpoints."""

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Copyable, Engine, KeptEngine
from handaxe.core.records import Rated

__all__ = ["SecondPolicy"]


class SecondPolicy:
    """Implements `slots.Learner` and `slots.FromPolicy`, so that `train(learners=[...])` keeps its weights, moments and
    reference in every checkpoint. It learns nothing of what the policy does: stages train it (`reinforce_second`).

    Args:
        engine: its own; None: a twin of the policy as it is when `begin` is first called.
        reference: whether such a twin keeps the model that it begins as, for a loss against it.
        clip_norm: of such a twin.

    Raises:
        InputError: it is asked for its engine before it has one; an engine that cannot be twinned, or kept.
    """

    def __init__(self, engine: Engine | None = None, *, reference: bool = False, clip_norm: float = 1.0):
        self._engine = None if engine is None else _kept(engine)
        self._reference = reference
        self._clip_norm = clip_norm

    @property
    def engine(self) -> KeptEngine:
        """Samples and trains it."""
        if self._engine is None:
            raise InputError("this second policy has no model yet: list it in learners= of train, or give it an engine")
        return self._engine

    def begin(self, engine: Engine) -> None:
        """Become a twin of the policy, unless it has a model already."""
        if self._engine is None:
            if not isinstance(engine, Copyable):
                raise InputError(
                    f"{type(engine).__name__} cannot be twinned, so a second policy cannot begin as its policy: give "
                    "it an engine of its own; see slots.Twins"
                )
            self._engine = engine.twin(reference=self._reference, clip_norm=self._clip_norm)

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Learns nothing: what the policy did is not its own."""
        del groups, step
        return {}

    def state_dict(self) -> dict[str, Any]:
        return self.engine.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.engine.load_state_dict(state)


def _kept(engine: Any) -> KeptEngine:
    if not (hasattr(engine, "state_dict") and hasattr(engine, "load_state_dict")):
        raise InputError(f"{type(engine).__name__} cannot be kept beside another engine; see slots.KeptEngine")
    kept: KeptEngine = engine
    return kept
