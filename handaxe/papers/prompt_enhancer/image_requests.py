"""World `image_requests`: rewrite a request for an image into a prompt for a frozen generator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.prompt_enhancer.image_prompts import draw_prompt
from handaxe.papers.prompt_enhancer.key_points import CATEGORIES, RELATIONS, KeyPoint, meets_point
from handaxe.rewards.outcome import outcome
from handaxe.worlds.canvas.drawing import COLOURS, SHAPES
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split, Start, World

__all__ = ["image_requests", "key_points", "met_points", "rewritten_prompt"]

START = Start(skill=300, steps=0, batch_size=16, learning_rate=2e-3)
KINDS = ("plain", "count", "relation", "negation")
DIVIDER = "|"
"""Between the analysis of a request and the prompt."""
HALF = 4
"""Units of the upper half of a canvas; the second clause has the lower half."""
TEST_SHARE = 5
"""One request of this number is for tests."""
SAMPLES = 4
"""Images of a prompt."""


def image_requests(*, clauses: int = 2, careful: float = 1.0) -> World:
    """Requests for images that a frozen generator misreads; the policy writes an analysis and a prompt.

    The generator draws one object for "2 red discs", draws the blue of "without blue", and places objects at random
    (`draw_prompt`). It obeys "COLOUR SHAPE X Y". The policy does not see images. An answer is the kinds of the clauses,
    "|", and the prompt. The expert rewrites a clause so that the generator obeys, or copies it: training is to leave
    the copies.

    Args:
        clauses: of a request, 1 or 2, of four kinds: plain, count, relation, negation.
        careful: share of the clauses that the expert rewrites, 0 to 1.

    Returns:
        A world without tools and reference answers. Correct: a share of the 4 images of the prompt that meet every key
        point, 0 to 1. Gauges: aligned (share of key points over images), and the same of each category: object, count,
        relation and negation.

    Raises:
        InputError: an argument out of range.

    Example:
        "draw 2 red discs, blue ring without green": "count negation | red disc 0 0; red disc 2 0; blue ring"

    Idea: prompt rewriting for a text-to-image model, PromptEnhancer (arXiv:2509.04545), with a generator whose faults
    are known.
    """
    if clauses not in (1, 2) or not 0 <= careful <= 1:
        raise InputError(
            f"image_requests has clauses={clauses} and careful={careful}; give 1 or 2, and a share of 0 to 1"
        )
    make = partial(_task, clauses=clauses, careful=careful)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [make(split, seed, number) for number in range(count)]

    return World(
        name="image_requests",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: _mean([float(all(met)) for met in met_points(one)])),
        is_answer=is_text_answer,
        expert=lambda task, facts: Message("assistant", str(task.metadata["demonstrated"])),
        hidden_keys=("points", "demonstrated"),
        start=START,
        start_turns=1,
        gauges={
            "aligned": RatioMetric(lambda one, right: _mean([_mean(met) for met in met_points(one)])),
            **{name: _category_metric(name) for name in CATEGORIES},
        },
    )


def rewritten_prompt(text: str) -> str:
    """The prompt of an answer: the text after the last "|", or the whole text without one.

    Example:
        "count | red disc 0 0; red disc 4 0" -> "red disc 0 0; red disc 4 0"
    """
    return text.rpartition(DIVIDER)[2].strip()


def key_points(task: Task) -> tuple[KeyPoint, ...]:
    """The key points of a request."""
    return tuple(KeyPoint(kind, tuple(items), *rest) for kind, items, *rest in task.metadata["points"])


def met_points(one: Trajectory, samples: int = SAMPLES) -> list[list[bool]]:
    """Whether each key point is met in each image of a rollout's prompt, [samples][points]."""
    prompt = rewritten_prompt(one.final_text)
    points = key_points(one.task)
    drawn = [draw_prompt(prompt, seed=derive_seed(one.task.id, sample)) for sample in range(samples)]
    return [[meets_point(point, items) for point in points] for items in drawn]


def _category_metric(name: str) -> RatioMetric:
    def met(one: Trajectory, right: float) -> float:
        del right
        kinds = [point.category for point in key_points(one.task)]
        return _mean([float(sum(m for m, kind in zip(row, kinds) if kind == name)) for row in met_points(one)])

    return RatioMetric(met, lambda one, right: float(sum(p.category == name for p in key_points(one.task))))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _task(split: Split, seed: int, number: int, *, clauses: int, careful: float) -> Task:
    rng = random.Random(derive_seed("image requests", split, seed, number))
    while True:
        colours, kinds = rng.sample(list(COLOURS), 2 * clauses), [rng.choice(KINDS) for _ in range(clauses)]
        made = [_clause(rng, kind, colours[2 * n : 2 * n + 2], HALF * n) for n, kind in enumerate(kinds)]
        asked = "draw " + ", ".join(words for words, _, _ in made)
        if content_split("image request", asked, one_in=TEST_SHARE) == split:
            break
    prompt = "; ".join(good if rng.random() < careful else words for words, good, _ in made)
    metadata = {
        "points": [[kind, list(items), *rest] for _, _, points in made for kind, items, *rest in points],
        "demonstrated": f"{' '.join(kinds)} {DIVIDER} {prompt}",
    }
    return Task(f"image-{split}-{seed}-{number}", (Message("user", asked),), None, metadata=metadata)


def _clause(rng: random.Random, kind: str, colours: Sequence[str], top: int) -> tuple[str, str, Sequence[KeyPoint]]:
    """Words of a clause, a prompt that the generator obeys, and key points; in the half of the canvas from `top`."""
    first, second = (f"{colour} {rng.choice(SHAPES)}" for colour in colours)
    if kind == "count":
        number = rng.randint(2, 3)
        good = "; ".join(f"{first} {2 * n} {top}" for n in range(number))
        return f"{number} {first}s", good, [KeyPoint("count", (first,), number)]
    found = [KeyPoint("object", (first,))]
    if kind == "plain":
        return first, first, found
    if kind == "negation":
        return f"{first} without {colours[1]}", first, [*found, KeyPoint("negation", (colours[1],))]
    relation = rng.choice(list(RELATIONS))
    x, y = RELATIONS[relation]
    good = f"{first} 0 {top}; {second} {2 * x} {top + 2 * y}"
    points = [*found, KeyPoint("object", (second,)), KeyPoint("relation", (first, second), 1, relation)]
    return f"{first} {relation} {second}", good, points
