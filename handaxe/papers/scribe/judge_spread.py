"""How much a judge's score of one step would differ if it were asked again: computed of its chances, nothing is drawn.

    rubric   C questions, each answered yes with chance p_c     score = #{yes} / C    sd = sqrt(sum_c p_c (1 - p_c)) / C
    open     one question, answered by the digit d with P(d)    score = d / 9         sd of the score under P

Both scores are in [0, 1]. A rubric of C questions spreads by 0.5 / sqrt(C) at most, an open question by 0.5. Beside
what repeats differ by stands what steps differ by, the sd over steps of the mean score. Chances are those of the
answers among the answers allowed, at temperature 1, so that sd is what repeats at that temperature come to, without
end.

Example:
    rubric of two, p 0.5 and 0.9  ->  sqrt(0.25 + 0.09) / 2 = 0.2915;    P(0) = P(9) = 0.5  ->  0.5
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Measures
from handaxe.core.records import Criterion, Message, Trajectory
from handaxe.core.requests import Measure
from handaxe.judges.verdict_token import about_turn

__all__ = ["OPEN", "answer_chances", "open_spread", "rubric_spread", "spreads"]

OPEN = "How good was this step, from 0 (useless) to 9 (perfect)? Answer by one digit."
DIGITS = tuple("0123456789")
GRADES = np.arange(len(DIGITS)) / 9
Route = Callable[[Trajectory, tuple[int, int]], str]


def answer_chances(engine: Measures, format: ChatFormat, question: str, answers: Sequence[str]) -> np.ndarray:
    """[A] chance of each answer among them, told by the first token after what all begin with.

    Raises:
        InputError: two answers that this token does not tell apart, or fewer than two answers.
    """
    said = [format.encode_turn(Message("assistant", one), ()) for one in answers]
    common = len(list(takewhile(lambda ids: len(set(ids)) == 1, zip(*said))))
    if len(said) < 2 or len({tuple(ids[: common + 1]) for ids in said}) < len(said):
        raise InputError(f"no token tells all of {list(answers)} apart; give two or more that begin differently")
    opening = format.start((Message("user", question),), ()).ids
    asked = [Measure([*opening, *ids[: common + 1]], len(opening) + common) for ids in said]
    logp_A = np.array([one["logp"][0] for one in engine.measure(asked)], np.float64)
    chance_A = np.exp(logp_A - logp_A.max())
    return chance_A / chance_A.sum()


def rubric_spread(chances: Sequence[float]) -> float:
    """sd of the share of yes over repeats, of the chance of yes for each question."""
    p_C = np.asarray(chances, np.float64)
    return float(np.sqrt((p_C * (1 - p_C)).sum()) / len(p_C))


def open_spread(chance_D: np.ndarray) -> float:
    """sd of d / 9 over repeats, of the chances of the digits from 0 to 9."""
    return float(np.sqrt((GRADES - GRADES @ chance_D) ** 2 @ chance_D))


def spreads(
    trajectories: Sequence[Trajectory],
    *,
    engine: Measures,
    format: ChatFormat,
    route: Route,
    skills: Mapping[str, Sequence[Criterion]],
) -> dict[str, float]:
    """Ask a language model about every turn of some attempts, by the rubric of its skill and openly.

    Args:
        trajectories: attempts, with one turn or more in all.
        engine, format: the model, and how it is spoken to.
        route: the skill that a segment of one turn shows, as in `papers.scribe.skill_items`.
        skills: name -> its criteria.

    Returns:
        rubric_sd and open_sd, means over turns; difference, the former less the latter, and difference/SKILL, of turns
        that show this skill; rubric_between and open_between, sd over turns of the mean score; turns, how many.

    Raises:
        InputError: no turn.
    """
    shown, means = list[str](), list[tuple[float, float]]()
    rubric, open_ = list[float](), list[float]()
    for one in trajectories:
        for n in range(len(one.turns)):
            shown.append(route(one, (n, n + 1)))
            told = [about_turn(one, n, criterion) for criterion in skills[shown[-1]]]
            yes_C = [answer_chances(engine, format, text, ("yes", "no"))[0] for text in told]
            chance_D = answer_chances(engine, format, "\n".join([*told[0].splitlines()[:-1], OPEN]), DIGITS)
            rubric.append(rubric_spread(yes_C))
            open_.append(open_spread(chance_D))
            means.append((float(np.mean(yes_C)), float(GRADES @ chance_D)))
    if not rubric:
        raise InputError("there is no turn to ask about; give attempts that have one")
    apart_N, (between, also) = np.subtract(rubric, open_), np.std(means, axis=0)
    by_skill = {f"difference/{name}": apart_N[np.array(shown) == name].mean() for name in sorted(set(shown))}
    figures = {"rubric_sd": np.mean(rubric), "open_sd": np.mean(open_), "difference": apart_N.mean(), **by_skill}
    figures |= {"rubric_between": between, "open_between": also, "turns": len(rubric)}
    return {name: float(value) for name, value in figures.items()}
