"""SmartSnap (arXiv:2512.22322): the agent submits its own evidence, and a judge sees nothing else."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from handaxe.methods.method import Method, replace
from handaxe.papers.smartsnap.evidence_reward import evidence_reward
from handaxe.papers.smartsnap.evidence_view import Sees, answer_judge, chain_judge
from handaxe.training.loop.schedule import cosine

__all__ = ["smartsnap"]

Bonus = Literal["none", "constant", "cosine"]
SCHEDULES: Mapping[Bonus, Callable[[int], Callable[[int], float]]] = MappingProxyType(
    {
        "none": lambda steps: lambda step: 0.0,
        "constant": lambda steps: lambda step: 1.0,
        "cosine": lambda steps: cosine(1.0, steps=steps),
    }
)
"""Name of a schedule -> (steps) -> weight of the tool bonus by step."""


def smartsnap(
    base: Method,
    *,
    votes: int = 3,
    temperature: float = 0.7,
    bonus: Bonus = "cosine",
    bonus_steps: int = 200,
    penalty: float = 0.1,
    sees: Sees = "evidence",
    slip: float = 0.2,
) -> Method:
    """Reward a submission by votes of a judge that sees the task, the message and the submitted observations.

    Args:
        votes: of the judge.
        temperature: of the votes.
        bonus: schedule of the tool bonus: none, constant, or a cosine that falls to 0.
        bonus_steps: steps of the cosine; 200 in the paper.
        penalty: of each evidence beyond three.
        sees: what the judge sees: the evidence, or all actions and observations.
        slip: probability that the rule gives to the wrong answer, unless `--judge` names a model; 0 for a certain rule.
    """
    valid = base.judge.steps(rule=chain_judge(slip=slip), prompt="smartsnap/valid", low=0.0, high=1.0)
    success = base.judge.steps(rule=answer_judge(slip=slip), prompt="smartsnap/success", low=0.0, high=1.0)
    reward = evidence_reward(
        valid=valid,
        success=success,
        schedule=SCHEDULES[bonus](bonus_steps),
        votes=votes,
        temperature=temperature,
        penalty=penalty,
        sees=sees,
    )
    return replace(base, reward=reward)
