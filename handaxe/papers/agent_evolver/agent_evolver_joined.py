"""AgentEvolver (arXiv:2511.10395): self-questioning, self-navigating and self-attributing in one run."""

from handaxe.methods.method import Method
from handaxe.papers.agent_evolver.agent_evolver_questions import agent_evolver_questions
from handaxe.papers.agent_evolver.agent_evolver_tips import agent_evolver_tips

__all__ = ["agent_evolver_joined"]


def agent_evolver_joined(
    base: Method,
    *,
    explorations: int = 64,
    proposer: str = "rule",
    tips: int = 1,
    writer: str = "rule",
    clip_bonus: float = 0.4,
    sft_steps: int = 60,
) -> Method:
    """Propose tasks from exploration, train on them with tips, and add step labels to the credit.

    Args:
        explorations: see `agent_evolver_questions`.
        proposer: who proposes tasks, see `agent_evolver_questions`.
        tips: see `agent_evolver_tips`.
        writer: who writes tips, see `agent_evolver_tips`.
        clip_bonus: see `agent_evolver_tips`. Unconfirmed.
        sft_steps: see `agent_evolver_tips`.
    """
    questioning = agent_evolver_questions(base, explorations=explorations, proposer=proposer)
    return agent_evolver_tips(questioning, tips=tips, writer=writer, clip_bonus=clip_bonus, sft_steps=sft_steps)
