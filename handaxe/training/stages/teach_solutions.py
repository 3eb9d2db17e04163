"""Supervised fine-tuning on a world's worked solutions, in which a tool computes what they compute."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.training.sft.calls_from_solutions import calls_from_solutions
from handaxe.training.stages.teach import teach
from handaxe.worlds.world import World

__all__ = ["teach_solutions"]


def teach_solutions(
    *,
    world: World,
    count: int,
    passes: int = 1,
    tool: str = "calculator",
    argument: str = "expression",
    batch_size: int = 32,
    learning_rate: float = 1e-3,
) -> Stage:
    """Make a stage that learns from solutions rewritten with calls, every one of which really ran.

        loss = - mean over a batch's tokens of log pi(token)        of words, calls and answers; replies do not train

    Args:
        world: has `solution`; see `training.sft.calls_from_solutions` for what is left out.
        count: conversations, >= 0; with 0 nothing is done, for a recipe that may do without.
        passes: over them, >= 0, each in an order of its own; 0 does nothing either.
        tool, argument: what computes, and the name of the argument that takes an expression.
        batch_size: conversations an optimiser step.
        learning_rate: of every step.

    Returns:
        A stage: metrics of each optimiser step, none where there are none.

    Raises:
        InputError: count or passes below 0; when it runs, what `calls_from_solutions` raises.

    Example:
        teach_solutions(world=slips(), count=64) takes two steps of 32 conversations of a call and an answer each

    Paper: arXiv:2512.20745 (AgentMath) and arXiv:2509.13761 (THOR), which both begin with tool-augmented data.
    Unconfirmed: how much of it there is, in either paper.
    Differs: see `calls_from_solutions`; THOR's policy thinks up the words and another model the code.
    """
    if count < 0 or passes < 0:
        raise InputError(f"count is {count} and passes {passes}; give 0 or more of each")

    def stage(site: StageContext) -> list[dict[str, float]]:
        if not count or not passes:
            return []
        source = calls_from_solutions(world=world, count=count, tool=tool, argument=argument)
        return teach(source=source, epochs=passes, batch_size=batch_size, learning_rate=learning_rate)(site)

    return stage
