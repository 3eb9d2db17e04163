"""Feedback of failed rollouts: the best program, the causes of failures and a suggestion."""

from collections.abc import Sequence

from handaxe.papers.auto_mc_reward.failure_causes import FAILURE, Cause, rank_causes
from handaxe.training.stages.parts.program_search import TASK, Feedback, FeedbackMaker, ProgramTrial, best_trial

__all__ = ["failure_feedback"]

SHOWN = 3
"""Most causes in the text."""


def failure_feedback(*, analysis: bool = True) -> FeedbackMaker:
    """Make feedback of a round's best program: the program, its success, and causes of the failures in its trial.

        good = the first program of the round's highest score, with the curves of task and failures

    The comment of a trial, which an analyser wrote, replaces the sentences and the curves of failures.

    Args:
        analysis: False leaves the causes out.

    Returns:
        Feedback for `search_programs`; None for a round in which every program failed.

    Example:
        task 0.1, 0.5 and failure/door (0.2, 1, -1) -> "After training, the policy solves 50 % of the tasks." and
        "Failed rollouts: door changes in 20 %, in 100 % of the solved rollouts. Suggestion: reward a decrease of door."

    Paper: arXiv:2312.09238 (Auto MC-Reward), the summary of failed trajectories for the designer.
    Differs: without a comment, the sentences are made by rule.
    """

    def feedback(trials: Sequence[ProgramTrial], past: Sequence[Feedback], seed: int) -> Feedback | None:
        del past, seed
        best = best_trial(trials)
        if best is None:
            return None
        by_rule = analysis and not best.comment
        kept = {
            name: own for name, own in best.curves.items() if name == TASK or (by_rule and name.startswith(FAILURE))
        }
        seen = f"After training, the policy solves {_percent(best.curves[TASK][-1])} of the tasks."
        causes = [*map(_sentence, rank_causes(kept)[:SHOWN]), *[best.comment] * (analysis and bool(best.comment))]
        return Feedback(best._replace(curves=kept, comment=""), None, "\n".join([best.text, seen, *causes]))

    return feedback


def _sentence(one: Cause) -> str:
    direction = "increase" if one.change > 0 else "decrease"
    return (
        f"Failed rollouts: {one.name} changes in {_percent(one.failed)}, in {_percent(one.solved)} of the solved "
        f"rollouts. Suggestion: reward {'an' if one.change > 0 else 'a'} {direction} of {one.name}."
    )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
