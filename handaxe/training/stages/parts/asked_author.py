"""Author of reward programs: a language model behind an engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Message, Sampling
from handaxe.core.requests import Sample
from handaxe.ops.seeds import derive_seed
from handaxe.training.stages.parts.program_grammar import grammar, repair_program
from handaxe.training.stages.parts.program_search import Brief, Writer

__all__ = ["Describe", "GRAMMAR", "ProgramAuthor", "asked_author", "read_code"]

REQUEST = """\
Write a reward program in Python for reinforcement learning of an agent that acts in turns.
The agent is to solve the tasks of {goal}.
Define compute_reward(before, after) -> (total, components). It is called once a turn. before and after are dicts of
numbers before and after the turn, with the keys {names}. total is a float, components a dict of its named parts.
Only math can be imported. Print nothing. Answer with one block of code."""
EARLIER = "This program was tried before:"
BROKEN = "The program below fails. Write it again without the error."
BLOCK = re.compile(r"```(?:python)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


Describe = Callable[[Brief], str]


class ProgramAuthor(NamedTuple):
    """An author, and a repair of failed programs: (text, brief, seed) -> text."""

    write: Writer
    repair: Callable[[str, Brief, int], str]


GRAMMAR = ProgramAuthor(grammar(), repair_program)


def asked_author(
    *,
    engine: Callable[[], tuple[Engine, ChatFormat]],
    goal: str,
    describe: Describe | None = None,
    max_tokens: int = 1024,
    temperature: float = 1.0,
) -> ProgramAuthor:
    """Make an author: programs sampled from a language model, each in a separate conversation.

    The request has the name of the tasks, the names of the numbers and the feedback's text. The first block of code of
    the answer is the program, or the whole answer without a block. Programs run in the sandbox alone.

    Args:
        engine: makes engine and chat format, at the first request.
        goal: name of the tasks, as in "solve the tasks of NAME".
        describe: request -> description of the numbers, after the names; None for the names alone.
        max_tokens: of an answer.
        temperature: of the samples; 1 in Eureka.

    Returns:
        Author and repair; a repair has the error in its request.

    Raises:
        InputError: in a request; the context of the model is too short for it.

    Example:
        answer "Here:\\n```python\\nx = 1\\n```" -> program "x = 1\\n"

    Paper: arXiv:2310.12931 (Eureka), section 3.1: names and numbers of the state instead of the environment's source.
    Differs: the wording of the request.
    """
    made = cache(engine)

    def sample(text: str, seeds: list[int]) -> list[str]:
        model, format = made()
        ids = format.start((Message("user", text),), ()).ids
        if len(ids) >= model.max_length:
            raise InputError(
                f"the request for a reward program has {len(ids)} tokens, the model's context {model.max_length}: name "
                "a model with a longer context"
            )
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        requests = [Sample(ids, sampling, seed, format.stop_ids, format.header_ids) for seed in seeds]
        return [read_code(format.parse(one.ids, ()).text) for one in model.sample(requests)]

    def request(brief: Brief) -> str:
        text = REQUEST.format(goal=goal, names=", ".join(brief.names))
        text = text if describe is None else f"{text}\n\n{describe(brief)}"
        return f"{text}\n\n{EARLIER}\n{brief.feedback.text}" if brief.feedback.text else text

    def write(brief: Brief, count: int, seed: int) -> list[str]:
        return sample(request(brief), [derive_seed(seed, k) for k in range(count)])

    def repair(text: str, brief: Brief, seed: int) -> str:
        return sample(f"{request(brief)}\n\n{BROKEN}\n{brief.check(text)}\n{text}", [seed])[0]

    return ProgramAuthor(write, repair)


def read_code(answer: str) -> str:
    """Read the first block of code of an answer, also one that was cut; the whole answer without a block."""
    found = BLOCK.search(answer)
    return found.group(1) if found else answer
