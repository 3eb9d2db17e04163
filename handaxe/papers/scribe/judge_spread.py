"""Standard deviation of a judge's step score over repeated judgements, computed from answer probabilities.

    rubric   C questions, each answered yes with probability p_c   score = #{yes} / C   sd = sqrt(sum_c p_c (1 - p_c)) /
    C
    open     one question, answered by the digit d with P(d)       score = d / 9        sd of the score under P

Both scores are in [0, 1]. A rubric of C questions has a spread of at most 0.5 / sqrt(C), an open question of at most
0.5. For comparison the spread between steps is the sd of the mean score over steps. Probabilities are normalized over
the allowed answers, at temperature 1, so that sd is the limit over infinitely many repeats.

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
from handaxe.judges.verdict_token import turn_question

__all__ = ["OPEN", "answer_chances", "open_spread", "rubric_spread", "spreads"]

OPEN = "How good was this step, from 0 (useless) to 9 (perfect)? Answer by one digit."
DIGITS = tuple("0123456789")
GRADES = np.arange(len(DIGITS)) / 9
Route = Callable[[Trajectory, tuple[int, int]], str]


def answer_chances(engine: Measures, format: ChatFormat, question: str, answers: Sequence[str]) -> np.ndarray:
    """Compute [A] probabilities of the answers, from the first token after their common prefix.

    Raises:
        InputError: two answers with an equal token there, or fewer than two answers.
    """
    turns = [format.encode_turn(Message("assistant", one), ()) for one in answers]
    common = len(list(takewhile(lambda ids: len(set(ids)) == 1, zip(*turns))))
    if len(turns) < 2 or len({tuple(ids[: common + 1]) for ids in turns}) < len(turns):
        raise InputError(f"no token separates all of {list(answers)}; give two or more with different beginnings")
    opening = format.start((Message("user", question),), ()).ids
    requests = [Measure([*opening, *ids[: common + 1]], len(opening) + common) for ids in turns]
    logp_A = np.array([one["logp"][0] for one in engine.measure(requests)], np.float64)
    chance_A = np.exp(logp_A - logp_A.max())
    return chance_A / chance_A.sum()


def rubric_spread(chances: Sequence[float]) -> float:
    """Standard deviation of the share of yes over repeats, from the probability of yes for each question."""
    p_C = np.asarray(chances, np.float64)
    return float(np.sqrt((p_C * (1 - p_C)).sum()) / len(p_C))


def open_spread(chance_D: np.ndarray) -> float:
    """Standard deviation of d / 9 over repeats, from the probabilities of the digits 0 to 9."""
    return float(np.sqrt((GRADES - GRADES @ chance_D) ** 2 @ chance_D))


def spreads(
    trajectories: Sequence[Trajectory],
    *,
    engine: Measures,
    format: ChatFormat,
    route: Route,
    skills: Mapping[str, Sequence[Criterion]],
) -> dict[str, float]:
    """Judge every turn of some trajectories with a language model, by the rubric of its skill and by an open question.

    Args:
        trajectories: with at least one turn in all.
        engine, format: the model and its chat format.
        route: skill of a segment of one turn, as in `papers.scribe.skill_items`.
        skills: name -> its criteria.

    Returns:
        rubric_sd and open_sd, means over turns; difference, rubric_sd - open_sd, and difference/SKILL, over turns of
        this skill; rubric_between and open_between, sd over turns of the mean score; turns, their number.

    Raises:
        InputError: no turn.
    """
    shown, means = list[str](), list[tuple[float, float]]()
    rubric, open_ = list[float](), list[float]()
    for one in trajectories:
        for n in range(len(one.turns)):
            shown.append(route(one, (n, n + 1)))
            questions = [turn_question(one, n, criterion) for criterion in skills[shown[-1]]]
            yes_C = [answer_chances(engine, format, text, ("yes", "no"))[0] for text in questions]
            chance_D = answer_chances(engine, format, "\n".join([*questions[0].splitlines()[:-1], OPEN]), DIGITS)
            rubric.append(rubric_spread(yes_C))
            open_.append(open_spread(chance_D))
            means.append((float(np.mean(yes_C)), float(GRADES @ chance_D)))
    if not rubric:
        raise InputError("there is no turn to judge; give trajectories with turns")
    difference_N, (between, open_between) = np.subtract(rubric, open_), np.std(means, axis=0)
    by_skill = {f"difference/{name}": difference_N[np.array(shown) == name].mean() for name in sorted(set(shown))}
    figures = {"rubric_sd": np.mean(rubric), "open_sd": np.mean(open_), "difference": difference_N.mean(), **by_skill}
    figures |= {"rubric_between": between, "open_between": open_between, "turns": len(rubric)}
    return {name: float(value) for name, value in figures.items()}
