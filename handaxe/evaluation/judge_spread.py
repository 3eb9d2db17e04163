"""How much a judge's score of one step would differ if it were asked again: computed of its chances, nothing is drawn.

    rubric   C questions, each answered yes with chance p_c     score = #{yes} / C    sd = sqrt(sum_c p_c (1 - p_c)) / C
    open     one question, answered by the digit d with P(d)    score = d / 9         sd of the score under P

Both scores are in [0, 1]. Chances are those of the answers among the answers allowed, at temperature 1, so that sd is
what repeats at that temperature come to, without end.

Example:
    rubric of two, p 0.5 and 0.9  ->  sqrt(0.25 + 0.09) / 2 = 0.2915;    P(0) = P(9) = 0.5  ->  0.5
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from handaxe.errors import InputError
from handaxe.exchange import Measure
from handaxe.judges.verdict_token import about_turn
from handaxe.records import Criterion, Message, Trajectory
from handaxe.slots import ChatFormat, Measures

__all__ = ["OPEN", "answer_chances", "open_spread", "rubric_spread", "spreads"]

OPEN = "How good was this step, from 0 (useless) to 9 (perfect)? Answer by one digit."
DIGITS = tuple("0123456789")
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
    score_D = np.arange(len(DIGITS)) / 9
    mean = float(score_D @ chance_D)
    return float(np.sqrt((score_D - mean) ** 2 @ chance_D))


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
        route: the skill that a segment of one turn shows, as in `rewards.parts.skill_items`.
        skills: name -> its criteria.

    Returns:
        rubric_sd and open_sd, means over turns; difference, the former less the latter; turns, how many.

    Raises:
        InputError: no turn.
    """
    rubric, open_ = [], []
    for one in trajectories:
        for n in range(len(one.turns)):
            criteria = skills[route(one, (n, n + 1))]
            told = [about_turn(one, n, criterion) for criterion in criteria]
            rubric.append(rubric_spread([answer_chances(engine, format, text, ("yes", "no"))[0] for text in told]))
            asked = "\n".join([*told[0].splitlines()[:-1], OPEN])
            open_.append(open_spread(answer_chances(engine, format, asked, DIGITS)))
    if not rubric:
        raise InputError("there is no turn to ask about; give attempts that have one")
    own, other = float(np.mean(rubric)), float(np.mean(open_))
    return {"rubric_sd": own, "open_sd": other, "difference": own - other, "turns": float(len(rubric))}
