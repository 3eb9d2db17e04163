"""PromptEnhancer (arXiv:2509.04545): train a rewriter of prompts for a frozen generator of images."""

from handaxe.methods.method import Method, replace
from handaxe.papers.prompt_enhancer.alignment_reward import alignment_reward
from handaxe.papers.prompt_enhancer.image_requests import met_points

__all__ = ["prompt_enhancer"]


def prompt_enhancer(base: Method, *, error: float = 0.1) -> Method:
    """Reward a rewritten prompt by the key points that the generator's images meet.

    Args:
        error: probability that the evaluator errs in one key point of one image.
    """
    return replace(base, reward=alignment_reward(met=met_points, error=error))
