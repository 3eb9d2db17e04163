"""Supervised fine-tuning of a second policy, such as a judge's model; the main policy stays unchanged."""

from __future__ import annotations

from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.stages.teach import teach

__all__ = ["teach_second"]


def teach_second(
    *,
    second: AuxLearner,
    source: Source,
    epochs: int = 1,
    batch_size: int = 32,
    micro_batch_rows: int = 64,
    learning_rate: float = 1e-3,
    optional: bool = False,
) -> Stage:
    """Make a stage that runs `teach` on the engine of a second policy. Checkpoints of the stage hold its weights.

    Args:
        second: starts as a copy of the context's policy if it has no engine yet.
        source: of groups; its argument is the context of the main policy.
        epochs, batch_size, micro_batch_rows, learning_rate, optional: as in `teach`.

    Returns:
        A stage: metrics of each optimiser step.

    Raises:
        InputError: an engine that cannot be copied; and as in `teach`.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        second.begin(site.engine)
        taught = teach(
            source=lambda there: source(site),
            epochs=epochs,
            batch_size=batch_size,
            micro_batch_rows=micro_batch_rows,
            learning_rate=learning_rate,
            optional=optional,
        )
        return taught(site._replace(engine=second.engine))

    return stage
