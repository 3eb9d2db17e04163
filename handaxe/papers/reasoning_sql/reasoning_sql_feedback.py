"""Reasoning-SQL with feedback (arXiv:2503.23157): a judge grades queries with wrong rows."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.reasoning_sql.sql_clauses import clause_overlap

__all__ = ["reasoning_sql_feedback"]


def reasoning_sql_feedback(base: Method, *, feedback_weight: float = 2.0) -> Method:
    """Add the grade of a judge, between 0 and 1, to the reward of queries with wrong rows.

    The rule is the overlap of the clauses with the reference's; `--judge` names a language model.

    Args:
        feedback_weight: weight of the grade; 2 in the paper. Unconfirmed.

    Example:
        partial reward 1, wrong rows, grade 0.5  ->  1 + 2 * 0.5 = 2;  correct rows: the partial reward alone

    Paper: arXiv:2503.23157 (Reasoning-SQL), the feedback of a language model.
    """
    grade = base.judge.grades(rule=clause_overlap())
    rows = rewards.weighted({"rows": (-1.0, base.world.correct)})
    wrong_only = rewards.gate(on=rows, above=-0.5, then=grade, ask="passed")
    return replace(
        base, reward=rewards.weighted({"partial": (1.0, base.reward), "feedback": (feedback_weight, wrong_only)})
    )
