"""Open requests under a principle, and rankings of answers to them."""

from __future__ import annotations

import random

from handaxe.asking.prompt import find_prompt
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.urpo.kendall_reward import reply_tau
from handaxe.papers.urpo.referee_question import REFEREE, question_fields, read_scores, write_scores
from handaxe.rewards.outcome import outcome
from handaxe.worlds.judging.order_principle import BEST, PRINCIPLES, draw_response
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split, World

__all__ = ["SIZES", "answer_quality", "rankings", "requests"]

TOPICS = "abcdefgh"
"""Letters of a topic."""
SIZES = (2, 4, 6)
"""Answers of a ranking task, in turn."""
FORM = frozenset("12345")


def requests(*, careless: float = 0.0) -> World:
    """Requests for two digits, 1 to 5, that suit a principle; any such answer is possible, and some are better.

    The principle prefers high or low first digits, or high second digits. A topic of three letters makes requests
    distinct, and has no meaning.

    Args:
        careless: share of the tasks for which the expert writes two random digits, so that a policy taught by it has
            something to learn.

    Returns:
        A world with scores 0 to 1, see `answer_quality`, without reference answers. No topic is in both splits.

    Example:
        "bdf hi 1st": "53" scores 1, "35" 0.5 and "1" 0

    Idea: an open-ended request whose quality is computable.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_request(split, seed, number, careless) for number in range(count)]

    return World(
        name="requests",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(answer_quality),
        is_answer=is_text_answer,
        expert=lambda task, facts: Message("assistant", str(task.metadata["demonstrated"])),
        start_turns=1,
    )


def rankings() -> World:
    """Requests of `requests` with two, four or six answers; the judge scores each answer from 1 to 5.

    The prompt is that of the referee, `self_referee`. The reference scores are those of the principle, so two answers
    may tie; not all are equal. A reply is correct if each pair of different answers has the order of the reference.

    Returns:
        A world with reference scores, 1 to 5, as `task.answer`, and the topics of `requests`.

    Example:
        "bdf hi 1st", answers "35" and "51": the expert replies "a3 b5"

    Paper: arXiv:2507.17515 (URPO), preference data as tasks of N-way ranking.
    Differs: requests and answers of a few characters.
    """
    source = requests()

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return [_ranking(task, number) for number, task in enumerate(source.tasks(split, count, seed))]

    return World(
        name="rankings",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: float(reply_tau(one) == 1)),
        is_answer=lambda turn: read_scores(turn.parsed.text, len(turn.parsed.text.split())) is not None,
        expert=lambda task, facts: Message("assistant", write_scores(task.answer)),
        start_turns=1,
    )


def answer_quality(one: Trajectory) -> float:
    """Quality of an answer to a request.

        quality = (score - 1) / 4        score: of the principle, 1 to 5;  0 for a text that is not two digits 1 to 5

    Example:
        "hi 1st": "53"  ->  1;  "35"  ->  0.5;  "355"  ->  0

    Idea: the true score of an open-ended answer, which the referee does not see.
    """
    text = one.final_text.strip()
    formed = len(text) == 2 and set(text) <= FORM
    return (PRINCIPLES[one.task.metadata["principle"]].score(text) - 1) / (BEST - 1) if formed else 0.0


def _request(split: Split, seed: int, number: int, careless: float) -> Task:
    rng = random.Random(derive_seed("open requests", split, seed, number))
    topic = _draw_topic(rng)
    while _split(topic) != split:
        topic = _draw_topic(rng)
    wording = list(PRINCIPLES)[number % len(PRINCIPLES)]
    response, exact = draw_response(rng), rng.random() >= careless
    while exact and PRINCIPLES[wording].score(response) < BEST:
        response = draw_response(rng)
    metadata = {"principle": wording, "demonstrated": response}
    message = Message("user", f"{topic} {wording}")
    return Task(f"requests-{split}-{seed}-{number}", (message,), None, (), metadata)


def _ranking(task: Task, number: int) -> Task:
    rng = random.Random(derive_seed("rankings", task.id))
    principle = PRINCIPLES[task.metadata["principle"]]
    answers = list[str]()
    while len({principle.score(one) for one in answers}) < 2:
        answers = [draw_response(rng) for _ in range(SIZES[number // len(PRINCIPLES) % len(SIZES)])]
    gold = [principle.score(one) for one in answers]
    messages = find_prompt(REFEREE, terse=True).render(question_fields(task, answers))
    metadata = {"principle": task.metadata["principle"], "answers": answers}
    return Task(f"rankings-{task.id}", messages, gold, (), metadata)


def _draw_topic(rng: random.Random) -> str:
    return "".join(rng.choice(TOPICS) for _ in range(3))


def _split(topic: str) -> Split:
    return content_split("requests split", topic)
