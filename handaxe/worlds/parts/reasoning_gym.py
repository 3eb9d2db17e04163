"""Tasks of reasoning-gym: a hundred procedural generators, each with its own scorer."""

from __future__ import annotations

import difflib
import functools
import json
import math
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import ModuleType
from typing import Any, Literal

from handaxe.core.errors import InputError, TaskError, VerifierError
from handaxe.core.records import Message, Task
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.safe_answers import is_safe

__all__ = ["is_full_score", "score", "tasks"]

CHUNK = 64
"""Items per data set; several generators create all items of a data set at once."""
SPAN = 1_000_000
"""Seeds reserved for one split of one seed."""
TRUTHY = frozenset({"game_of_life_halting"})
"""Generators whose scorer compares bool(text), which is True for "False" (reasoning-gym 0.1.25)."""
Split = Literal["train", "test"]


def tasks(
    generators: str | Mapping[str, float],
    *,
    count: int,
    seed: int,
    split: Split = "train",
    tools: tuple[str, ...] | None = None,
    config: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Task]:
    """Create tasks of one generator or of a mixture.

    Splits are disjoint: they use different seeds, and a hash of its text assigns each question to one split (one in
    four to test), independent of seed and count. The returned questions are distinct.

    Args:
        generators: a name such as "gcd", or names with weights > 0; each task's generator is drawn by weight.
        count: number of tasks, >= 1.
        seed: equal seeds give equal tasks; the first k tasks are independent of count. Five generators
            (isomorphic_strings, knight_swap, polynomial_multiplication, ransom_note, word_ladder) also depend on
            PYTHONHASHSEED: fix it to compare runs with them.
        split: train or test.
        tools: names of the offered tools; None: all tools of the environment.
        config: options by generator, such as {"gcd": {"max_numbers": 3}}; JSON values.

    Returns:
        Tasks with the generator's answer (None if it gives none, such as rubiks_cube) and metadata: generator, seed and
        index of the item, config, and entry, the generator's own metadata as JSON, which `score` needs.

    Raises:
        TaskError: an unknown generator (the message has similar names), a rejected config, count below 1, or fewer
            distinct questions than count. InputError: reasoning-gym is not installed.

    Example:
        tasks("gcd", count=1, seed=0)[0].messages[0].content
        is "Find the Greatest Common Divisor (GCD) of these numbers: ..."
    """
    weights = {generators: 1.0} if isinstance(generators, str) else dict(generators)
    config = config or {}
    _check(weights, count, split, config)
    sources = {name: _distinct(name, dict(config.get(name, {})), seed, split, count) for name in weights}
    rng = random.Random(derive_seed("reasoning_gym mixture", seed, split))
    chosen = rng.choices(list(weights), list(weights.values()), k=count)
    return [_task(name, *next(sources[name]), seed, split, tools, dict(config.get(name, {}))) for name in chosen]


def score(task: Task, text: str) -> float:
    """Score an answer with the scorer of the task's generator.

    Several scorers pass the answer to `eval`, or to sympy's parser, which calls `eval`. Text other than a plain literal
    or formula is not passed on and scores 0 (see `safe_answers`). A blank answer scores 0, unlike in some generators.
    game_of_life_halting is scored by equality, because its scorer accepts any text.

    Args:
        task: created by `tasks`.
        text: the answer alone.

    Returns:
        0 to 1; many generators give partial credit for a near or verbose answer. 0 if the scorer fails on the text but
        not on the reference answer: the text is unreadable.

    Raises:
        TaskError: the task has another origin. VerifierError: the scorer also fails on the reference answer, or returns
            no
        number.
    """
    metadata = task.metadata
    if not {"generator", "config", "entry"} <= set(metadata):
        raise TaskError(f"task {task.id!r} is not of reasoning-gym: its metadata has {sorted(metadata)}")
    name = metadata["generator"]
    if not text.strip() or not is_safe(name, text, oracle=task.answer):
        return 0.0
    question = [message.content for message in task.messages if message.role == "user"][-1]
    entry = {"question": question, "answer": task.answer, "metadata": _decode(metadata["entry"])}
    if name in TRUTHY:
        return float(text.strip() == task.answer)
    scorer = _scorer(name, json.dumps(metadata["config"], sort_keys=True))
    try:
        value = float(scorer.score_answer(text, entry))
    except Exception as error:
        if not _works(scorer, entry):
            raise VerifierError(f"the scorer of {name!r} fails on task {task.id!r}: {error!r}") from error
        return 0.0
    if not math.isfinite(value):
        raise VerifierError(f"the scorer of {name!r} gave {value} for an answer to task {task.id!r}")
    return value


def is_full_score(task: Task, text: str) -> float:
    """Return 1 for full marks from the generator's scorer, else 0.

    Partial credit is a poor measure of distance: 0.75 for 7920 instead of 792, and 0.92 for 60 instead of 59. Raises as
    `score`.
    """
    return float(score(task, text) >= 1.0)


def _works(scorer: Any, entry: Mapping[str, Any]) -> bool:
    """Whether the scorer can score the reference answer, or an empty one without a reference answer."""
    try:
        scorer.score_answer(entry["answer"] or "", entry)
    except Exception:
        return False
    return True


def _package() -> ModuleType:
    try:
        import reasoning_gym.factory
    except ImportError as error:
        raise InputError('these tasks are made by reasoning-gym: pip install "handaxe[gym]"') from error
    return reasoning_gym.factory


def _check(weights: Mapping[str, float], count: int, split: str, config: Mapping[str, Any]) -> None:
    known = _package().DATASETS
    if not weights or count < 1:
        raise TaskError(f"a data set of {count} tasks from {len(weights)} generators is empty")
    for name in [*weights, *config]:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known))}"
            raise TaskError(f"reasoning-gym has no generator {name!r}; {hint}")
    for name, weight in weights.items():
        if not weight > 0 or not math.isfinite(weight):
            raise TaskError(f"the weight of generator {name!r} is {weight}; give more than 0")
    unused = sorted(set(config) - set(weights))
    if unused:
        raise TaskError(f"config is given for {unused}, which are not among the generators {sorted(weights)}")
    if split not in ("train", "test"):
        raise TaskError(f"there is no split {split!r}; give train or test")


def _create(name: str, config: Mapping[str, Any], *, size: int, seed: int) -> Any:
    try:
        return _package().create_dataset(name, **config, size=size, seed=seed)
    except (AssertionError, TypeError, ValueError) as error:
        raise TaskError(f"generator {name!r} refuses the config {dict(config)}: {error}") from error


def _distinct(
    name: str, config: dict[str, Any], seed: int, split: Split, count: int
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Distinct items (seed, index, entry) of this split."""
    # Spans of test seeds lie between spans of train seeds: the splits share no item.
    base = derive_seed("reasoning_gym", name, seed) % 1000 * 2 * SPAN + (SPAN if split == "test" else 0)
    seen: set[str] = set()
    tries = min(SPAN, 400 + 40 * count)
    for index in range(tries):
        if index % CHUNK == 0:
            data = _create(name, config, size=CHUNK, seed=base + index)
        try:
            entry = data[index % CHUNK]
        except Exception as error:
            raise TaskError(f"generator {name!r} with config {config} made no item {index}: {error!r}") from error
        question = entry["question"]
        if question not in seen and _split(question) == split:
            seen.add(question)
            yield base + index - index % CHUNK, index % CHUNK, entry
    raise TaskError(
        f"generator {name!r} has only {len(seen)} distinct questions for split {split!r} among {tries} it made: lower "
        "the count or widen its config"
    )


def _split(question: str) -> Split:
    return content_split("reasoning_gym split", question)


def _task(
    name: str,
    base: int,
    index: int,
    entry: Mapping[str, Any],
    seed: int,
    split: Split,
    tools: tuple[str, ...] | None,
    config: dict[str, Any],
) -> Task:
    metadata = {
        "generator": name,
        "seed": base,
        "index": index,
        "config": config,
        "entry": _encode(entry["metadata"], name),
    }
    number = base % SPAN + index
    messages = (Message("user", entry["question"]),)
    return Task(f"{name}-{split}-{seed}-{number}", messages, entry["answer"], tools, metadata)


@functools.lru_cache(maxsize=256)
def _scorer(name: str, config: str) -> Any:
    return _create(name, json.loads(config), size=1, seed=0)


def _encode(value: Any, name: str) -> Any:
    """JSON that `_decode` converts back to equal values of equal types."""
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, list):
        return [_encode(item, name) for item in value]
    if isinstance(value, tuple | set | frozenset):
        return {f"<{type(value).__name__}>": [_encode(item, name) for item in value]}
    if isinstance(value, Fraction):
        return {"<Fraction>": [value.numerator, value.denominator]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and not (len(value) == 1 and next(iter(value)) in TAGS):
            return {key: _encode(item, name) for key, item in value.items()}
        return {"<dict>": [[_encode(key, name), _encode(item, name)] for key, item in value.items()]}
    raise TaskError(f"an item of generator {name!r} holds a {type(value).__name__}, which JSON cannot keep")


TAGS: dict[str, Any] = {
    "<tuple>": tuple,
    "<set>": set,
    "<frozenset>": frozenset,
    "<dict>": dict,
    "<Fraction>": lambda parts: Fraction(*parts),
}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        tag = next(iter(value), "")
        if len(value) == 1 and tag in TAGS:
            return TAGS[tag](_decode(value[tag]))
        return {key: _decode(item) for key, item in value.items()}
    return value
