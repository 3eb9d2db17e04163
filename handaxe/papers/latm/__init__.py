"""LATM (arXiv:2305.17126): tools by a strong maker, calls by a weak user, and a dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from handaxe.asking.ask import Answerer
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.deferred import DeferredModule
from handaxe.methods.method import StudyFunction
from handaxe.models.load import load
from handaxe.papers.latm.answer_figures import answer_figures
from handaxe.papers.latm.route_stream import FAMILIES, SHOWN, family_tasks, route_stream

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["latm"]


def latm(*, questions: int = 5, most: int = 20_000, user: Callable[[], Answerer] | None = None) -> StudyFunction:
    """Answer questions of eight families of reasoning-gym with SmolLM2-135M as user, with tools and without.

    The stream has the families mixed. A question of a new family goes to the maker, which has three worked questions of
    the family and three to verify with. A family without a verified tool is answered without one. Questions are of the
    test split; worked questions of the train split.

    Figures:
        made                                families with a verified tool
        latm/accuracy, alone/accuracy       the user with tools, and without; exact/accuracy: tools with exact calls,
                                            the calls of the maker
        calls/accuracy                      share of exact arguments among the user's calls
        FAMILY/latm, FAMILY/alone           accuracy by family
        gain/alone, .../low, .../high       latm less alone, mean over questions with 95 % interval
        gap/exact                           exact less latm
        dispatch/accuracy                   share of questions that are routed to their family, or to the maker at the
                                            family's first question
        maker/programs                      programs that the maker evaluates for a family
        amortised/programs, each/programs   programs a question: with a tool for each family, and with a tool made for
                                            each question
        break_even                          questions of a family from which the tool is cheaper, in programs
        latm/tokens, alone/tokens           of the user, a question

    Args:
        questions: of a family.
        most: programs that the maker evaluates for a ticket.
        user: makes the language model that plays the user; None: SmolLM2-135M.
    """

    def measure(seed: int) -> dict[str, float]:
        answerer = _smollm2() if user is None else user()
        shown = {name: family_tasks(name, 2 * SHOWN, seed, "train") for name in FAMILIES}
        stream = route_stream(shown, questions, most, seed)
        return answer_figures(stream, shown, answerer, questions)

    return measure


def _smollm2() -> Answerer:
    policy = load("smollm2")
    return PolicyAnswerer(local.LocalEngine(policy.model), policy.format, name="smollm2")
