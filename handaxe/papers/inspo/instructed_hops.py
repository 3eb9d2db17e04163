"""World `hops` for a policy that reads instructions: a system prompt says whether, how far and how to search."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from handaxe.core.records import Message, Task, Trajectory
from handaxe.curricula.advice import failure_tags
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import Expert, Facts, Split, Start, World

__all__ = ["ADVICE", "CUES", "NEUTRAL", "draw_instruction", "instructed_hops", "prompt_tags", "read_cues"]

CUES: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "search": {
            "yes": ("Use search.", "Look it up.", "Call the tool."),
            "no": ("Answer at once.", "Do not search.", "Be quick."),
        },
        "depth": {
            "all": ("Search to the end.", "Look up every word.", "Do all steps."),
            "one": ("Search once.", "One step is enough."),
        },
        "notes": {"yes": ("Name what is left.", "Write down the rest.", "Keep a list.")},
    }
)
"""Aspect -> behaviour -> sentences that ask for the behaviour."""
NEUTRAL = "Answer the question."
"""Prompt without a cue."""
ADVICE: Mapping[str, str] = MappingProxyType(
    {"no call": "Use search.", "few searches": "Search to the end.", "no notes": "Name what is left."}
)
"""Tag of `prompt_tags` -> sentence against the failure."""
DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType({"search": ("yes", "no"), "depth": ("all", "one")})
"""Aspect -> behaviours of a demonstration without a cue, drawn evenly."""
START = Start(skill=640, steps=0, batch_size=8)


def instructed_hops(
    *,
    lengths: tuple[int, ...] = (2, 3),
    prompts: bool = False,
    brief: bool = True,
    size: int = 200,
    world_seed: int = 0,
) -> World:
    """Questions of `hops`; with `prompts`, training tasks have a system prompt that the expert follows.

    The expert follows it also to a wrong answer. A prompt has a sentence for some of three aspects: whether to search,
    whether to search for every fact or for the first alone, and whether to state the remaining question beside each
    search. Without a sentence about one of the first two, a demonstration draws a behaviour; without one about the
    third it has no notes. So the start policy acts by the prompt. Correctness does not depend on the prompt. Held-out
    tasks have no prompt.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        prompts: training tasks have system prompts, so that a cold start learns to read them; without them the expert
            is correct on every task.
        brief: in key words, for the tiny policy; otherwise sentences.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops" with the gauges of `hops`.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        with prompts, "Use search. Search once." and "4071 boss ally?": search {"query": "4071 boss"} finds 5526, and
        the answer is "5526", which is wrong

    Idea: demonstrations with different instructions and the behaviours that they ask for, so that an instruction has a
    meaning before reinforcement learning, as it has for an instruction-tuned model.
    """
    made = hops(lengths=lengths, results=1, notes=True, brief=brief, size=size, world_seed=world_seed)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        found = made.tasks(split, count, seed)
        return [_with_prompt(task) for task in found] if prompts and split == "train" else found

    return replace(
        made,
        name="instructed_hops",
        tasks=tasks,
        expert=_obedient(made.need("expert")),
        start=START if brief else None,
        exploration=None,
    )


def draw_instruction(rng: random.Random) -> str:
    """Draw a prompt: per aspect a sentence with probability 2/3, in any order; else NEUTRAL or nothing.

    Example:
        "Search once. Keep a list."
    """
    sentences = [
        rng.choice(rng.choice(list(behaviours.values()))) for behaviours in CUES.values() if rng.random() < 2 / 3
    ]
    rng.shuffle(sentences)
    return " ".join(sentences) or rng.choice((NEUTRAL, ""))


def read_cues(prompt: str) -> dict[str, str]:
    """Behaviour of each aspect that a prompt names; the last sentence of an aspect decides.

    Example:
        "Use search. Be quick. Keep a list."  ->  {"search": "no", "notes": "yes"}
    """
    places = {
        (prompt.rfind(sentence), aspect): behaviour
        for aspect, behaviours in CUES.items()
        for behaviour, sentences in behaviours.items()
        for sentence in sentences
        if sentence in prompt
    }
    return {aspect: behaviour for (_, aspect), behaviour in sorted(places.items())}


def prompt_tags(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the failure tags of a rollout: keys of ADVICE, in the order of importance, else those of `failure_tags`.

    A question of k words about facts needs k searches; the rule counts words, and sees no reference.

    Example:
        "4071 boss ally?" with one search and no text beside it  ->  "few searches", "no notes"
    """
    if not trajectory.calls:
        return ("no call",)
    words = len(trajectory.task.messages[-1].content.split()) - 1
    bare = any(turn.parsed.calls and not turn.parsed.text.strip() for turn in trajectory.turns)
    found = [("few searches", len(trajectory.calls) < words), ("no notes", bare)]
    return tuple(tag for tag, so in found if so) or failure_tags(trajectory)


def _with_prompt(task: Task) -> Task:
    prompt = draw_instruction(random.Random(derive_seed("prompt", task.id)))
    system = (Message("system", prompt),) if prompt else ()
    return replace(task, messages=(*system, *task.messages), metadata={**task.metadata, "prompted": True})


@functools.lru_cache(maxsize=4096)
def _behaviours(id: str, prompt: str) -> Mapping[str, str]:
    rng = random.Random(derive_seed("behaviours", id))
    return {**{aspect: rng.choice(of) for aspect, of in DEFAULTS.items()}, **read_cues(prompt)}


def _obedient(searching: Expert) -> Expert:
    """Expert that follows the prompt of a task with the metadata "prompted"."""

    def expert(task: Task, facts: Facts) -> Message:
        if not task.metadata.get("prompted"):
            return searching(task, facts)
        prompt = task.messages[0].content if task.messages[0].role == "system" else ""
        chosen = _behaviours(task.id, prompt)
        wanted = {"all": len(reference_calls(task)), "one": 1}[chosen["depth"]] if chosen["search"] == "yes" else 0
        if facts["turn"] < wanted:
            message = searching(task, facts)
            return message if chosen.get("notes") == "yes" else replace(message, content="")
        return Message("assistant", _answer(task, wanted))

    return expert


def _answer(task: Task, searched: int) -> str:
    """The last found name; without a search the name in the question, which is never the answer."""
    found: Sequence[str] = task.metadata["gold_answers"]
    return str(found[searched - 1]) if searched else task.messages[-1].content.split()[0]
