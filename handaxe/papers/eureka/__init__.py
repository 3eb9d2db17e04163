"""Eureka (arXiv:2310.12931): search for a reward program by trainings and reflection, then train with the best."""

from handaxe.methods.method import Method
from handaxe.methods.program_author import program_author
from handaxe.methods.search_reward import search_reward
from handaxe.papers.eureka.reflection import reflection

__all__ = ["eureka"]


def eureka(
    base: Method,
    *,
    programs: int = 4,
    rounds: int = 3,
    trial_steps: int = 4,
    component_curves: bool = True,
    author: str = "grammar",
) -> Method:
    """Replace the base's reward by the best program of a search; the base's correctness rule scores trials.

    Args:
        programs: K, programs of a round; 16 in the paper.
        rounds: of the search; 5 in the paper.
        trial_steps: training steps of a program's trial.
        component_curves: put the curve of each component into the reflection; without, the curve of the task alone.
        author: who writes the programs: grammar, the name or folder of a model, or http://HOST/v1#NAME for a model of
            a chat server.
    """
    written_by = program_author(author, goal=base.world.name)
    return search_reward(
        base,
        author=written_by.write,
        feedback=reflection(component_curves=component_curves),
        programs=programs,
        rounds=rounds,
        trial_steps=trial_steps,
    )
