"""Standard deviation of a judge's step score over repeated judgements, computed from answer probabilities.

    rubric   C questions, each answered yes with probability p_c   score = #{yes} / C   sd = sqrt(sum_c p_c (1 - p_c)) /
    C
    open     one question, answered by the digit d with P(d)       score = d / 9        sd of the score under P

Both scores are in [0, 1]. A rubric of C questions has a spread of at most 0.5 / sqrt(C), an open question of at most
0.5. For comparison the spread between steps is the sd of the mean score over steps. Probabilities are normalized over
the allowed answers, at temperature 1, so that sd is the limit over infinitely many repeats.

Example:
    rubric of two, p 0.5 and 0.9  ->  sqrt(0.25 + 0.09) / 2 = 0.2915;    P(0) = P(9) = 0.5  ->  0.5

Paper: arXiv:2601.03555 (SCRIBE), the variance of judgements with and without a skill's rubric.
Unconfirmed: the measure of spread; only the abstract was available.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import Prompt, parse_prompt
from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Trajectory
from handaxe.judges.question_fields import question_fields

__all__ = ["OPEN", "RUBRIC", "answer_chances", "open_spread", "rubric_spread", "spreads"]

DIGITS = "0123456789"
GRADES = np.arange(len(DIGITS)) / 9
YES_NO = 'yes = ["yes"], no = ["no"]'
DIGIT = ", ".join(f'{digit} = ["{digit}"]' for digit in DIGITS)
QUESTION = """+++
id = "scribe/%s"
version = 1
labels = { %s }
trusted = %s
quoted = ["task", "did", "then"]
+++
{{user}}
task: {{task}}
did: {{did}}
then: {{then}}
%s
"""
RUBRIC = parse_prompt(
    QUESTION % ("rubric", YES_NO, '["criterion"]', "{{criterion}} yes or no?"),
    source=__name__,
)
OPEN = parse_prompt(
    QUESTION % ("open", DIGIT, "[]", "How good was this step, from 0 (useless) to 9 (perfect)? Answer by one digit."),
    source=__name__,
)
Route = Callable[[Trajectory, tuple[int, int]], str]


def answer_chances(answer: AskAnswer) -> np.ndarray:
    """[A] probabilities of the labels of an answer, normalized.

    Example:
        log-likelihoods of 0.3 and 0.1  ->  0.75, 0.25
    """
    logp_A = np.array(list(answer.label_logp.values()), np.float64)
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
    trajectories: Sequence[Trajectory], *, desk: AskDesk, route: Route, skills: Mapping[str, Sequence[Criterion]]
) -> dict[str, float]:
    """Judge every turn of some trajectories with a language model, by the rubric of its skill and by an open question.

    Args:
        trajectories: with at least one turn in all.
        desk: answers the questions by likelihood.
        route: skill of a segment of one turn, as in `papers.scribe.skill_items`.
        skills: name -> its criteria.

    Returns:
        rubric_sd and open_sd, means over turns; difference, rubric_sd - open_sd, and difference/SKILL, over turns of
        this skill; rubric_between and open_between, sd over turns of the mean score; turns, their number.

    Raises:
        InputError: no turn, or a question without an answer.
    """
    shown, means = list[str](), list[tuple[float, float]]()
    rubric, open_ = list[float](), list[float]()
    for one in trajectories:
        for n in range(len(one.turns)):
            shown.append(route(one, (n, n + 1)))
            yes_C = [_asked(desk, RUBRIC, one, n, criterion)[0] for criterion in skills[shown[-1]]]
            chance_D = _asked(desk, OPEN, one, n, None)
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


def _asked(desk: AskDesk, prompt: Prompt, one: Trajectory, turn: int, criterion: Criterion | None) -> np.ndarray:
    """[A] probabilities of the labels of a question about a turn."""
    fields = question_fields(prompt, one, turn, criterion)
    about = (one.id, turn, criterion.name if criterion else "")
    (found,) = desk.ask([Ask(prompt, fields, about=about)], answer_chances)
    if isinstance(found, NoAnswer):
        raise InputError(f"the question about turn {turn + 1} of {one.id!r} has no answer: {found.reason}")
    return found
