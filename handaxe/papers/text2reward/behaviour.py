"""Feedback on the behaviour after training with a program."""

from collections.abc import Sequence

from handaxe.training.stages.parts.program_search import TASK, Feedback, FeedbackMaker, ProgramTrial, best_trial

__all__ = ["behaviour"]

SOLVED = 0.9
"""Success from which the description asks for no change."""


def behaviour() -> FeedbackMaker:
    """Make feedback of a round's best program: the program, and a sentence on the trained policy.

        good = the first program of the round's highest score, without curves of components

    Returns:
        Feedback for `search_programs`; None for a round in which every program failed.

    Example:
        task 0.1, 0.4 and turns 8, 6 -> "After training, the policy solves 40 % of the tasks, from 10 % before, in 6.0
        turns. Change the program so that the policy solves more tasks."

    Paper: arXiv:2309.11489 (Text2Reward), the feedback of a person on the trained policy.
    Differs: a sentence by rule on success and turns replaces the words of a person who watched the policy.
    """

    def feedback(trials: Sequence[ProgramTrial], past: Sequence[Feedback], seed: int) -> Feedback | None:
        del past, seed
        best = best_trial(trials)
        if best is None:
            return None
        task, turns = best.curves[TASK], best.curves["turns"]
        seen = f"After training, the policy solves {task[-1]:.0%} of the tasks, from {task[0]:.0%} before"
        seen = f"{seen}, in {turns[-1]:.1f} turns.".replace("%", " %")
        wish = "Keep the program." if task[-1] >= SOLVED else "Change the program so that the policy solves more tasks."
        return Feedback(best._replace(curves={TASK: task}), None, f"{best.text}\n{seen} {wish}")

    return feedback
