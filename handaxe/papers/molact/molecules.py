"""Molecules to edit by one functional group, or to improve in a property."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Message, Task, ToolCall, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.molact.fingerprint_similarity import fingerprint_similarity
from handaxe.papers.molact.group_count_change import group_count_change
from handaxe.papers.molact.molecule import alike, canonical, group_count, property_of, read_molecule
from handaxe.papers.molact.molecule_tools import molecules as molecule_tools
from handaxe.papers.molact.property_gain import THRESHOLDS, property_gain
from handaxe.rewards.by_task import by_task
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.outcome import outcome
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.search_tools import answers_in_words
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = [
    "Kind",
    "changed_groups",
    "gained",
    "kept_likeness",
    "molecules",
    "of_kind",
    "said_molecule",
    "shaped",
    "valid_molecule",
]

Kind = Literal["edit", "optimise"]
KINDS: tuple[Kind, ...] = ("edit", "optimise")
START = Start(DemonstrationNoise(needed=0.5, clumsy=0.2), skill=150, steps=30, batch_size=16, learning_rate=2e-3)
KEPT = 0.4
"""Likeness to the molecule given above which a gain counts as right; nothing is like all of them, so that no one
molecule answers every question."""
LONGEST = 24
"""Characters of a molecule in a question."""
CORES = ("C", "CC", "C(C)", "CC(C)", "CCC", "c1ccc(cc1)", "C1CCC(CC1)")
"""Pieces that can be written one after the other, and take a group at either end."""
ENDS: Mapping[str, tuple[str, str]] = {
    "": ("", ""),
    "hydroxyl": ("O", "O"),
    "amine": ("N", "N"),
    "fluoro": ("F", "F"),
    "chloro": ("Cl", "Cl"),
    "nitrile": ("N#C", "C#N"),
    "acid": ("OC(=O)", "C(=O)O"),
}
"""Functional group -> how it is written at the front and at the back."""
GREASE = ("CC", "CCC", "Cl")
"""What is written in the place of the group behind a molecule to raise its logP."""


class _Parts(NamedTuple):
    """A molecule: a group in front ("" for none), a core, and a group behind."""

    front: str
    core: str
    back: str

    @property
    def smiles(self) -> str:
        return f"{ENDS[self.front][0]}{self.core}{ENDS[self.back][1]}"


def molecules(*, kinds: tuple[Kind, ...] = KINDS, world_seed: int = 0) -> World:
    """Small molecules as SMILES: edit one by a functional group, or improve its logP by 0.5 and more.

    An edit adds a group, deletes one, or puts one in the place of another; right is what changes the counts of groups
    as asked. An improvement is right by its gain, and 0 where it is no more than 0.4 like the molecule given. There
    are tools that say whether a SMILES is a molecule, which groups it has, and its properties. The molecule of an
    attempt is the last one that the tool `valid` took, or else its final text.

    Args:
        kinds: of questions: edit, optimise; drawn evenly.
        world_seed: changes which molecules are in training and which in test.

    Returns:
        A world broken down by "kind", with the gauges property_gain (of what is to be improved, the share of the gain
        that is worth 1) and valid (attempts that say a molecule).

    Raises:
        InputError: other kinds; rdkit is not installed (extra [chem]), when tasks are made.

    Example:
        "add hydroxyl CCCF" is answered by OCCCF, and by CC(O)CF as well; "raise logp CCO" by CCCC
    """
    if not kinds or not set(kinds) <= set(KINDS):
        raise InputError(f"kinds are some of {', '.join(KINDS)}; they are {list(kinds)}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(number, seed, split, kinds, world_seed) for number in range(count)]

    return World(
        name="molecules",
        tasks=tasks,
        env=tool_chat,
        correct=by_task(key="kind", rewards={"edit": changed_groups(), "optimise": _improved()}),
        tools=tuple(molecule_tools()),
        by=("kind",),
        answered=answers_in_words,
        expert=_expert,
        start=START,
        gauges={
            "property_gain": RatioMetric(_gain, lambda one, outcome: float(one.task.metadata["kind"] == "optimise")),
            "valid": RatioMetric(lambda one, outcome: _valid(one)),
        },
    )


def said_molecule(attempt: Trajectory) -> str:
    """The last molecule that the tool `valid` took, as it wrote it, or else the final text."""
    taken = [reply.content for reply in attempt.replies if reply.name == "valid" and reply.status == "ok"]
    return taken[-1] if taken else attempt.final_text.strip()


def of_kind(tasks: Sequence[Task], kind: str) -> list[Task]:
    """Those of the tasks that are of this kind, in their order.

    Raises:
        TaskError: there is none.
    """
    kept = [task for task in tasks if task.metadata.get("kind") == kind]
    if not kept:
        raise TaskError(f"of {len(tasks)} tasks none is of the kind {kind!r}")
    return kept


def changed_groups() -> Reward:
    """Give 1 where the groups of this world's molecules changed as asked; see `papers.molact.group_count_change`."""
    return group_count_change(
        source=_source, change=lambda task: task.metadata.get("change", {}), extract=said_molecule
    )


def gained() -> Reward:
    """Give the gain of the property that this world asks for; see `papers.molact.property_gain`."""
    return property_gain(source=_source, name=lambda task: task.metadata["property"], extract=said_molecule)


def _improved() -> Reward:
    """The gain of what is still like the molecule given."""
    return ladder([Rung("like", kept_likeness(), weight=0.0, above=KEPT, failed=0.0), Rung("gain", gained())])


def kept_likeness(*, scaffold: bool = False) -> Reward:
    """Give the likeness to the molecule that was given; see `papers.molact.fingerprint_similarity`."""
    return fingerprint_similarity(source=_source, scaffold=scaffold, extract=said_molecule)


def shaped(*, main: float = 0.8, likeness: float = 0.15, used: float = 0.05) -> Reward:
    """Give a molecule what MolAct gives it, by the kind of its task.

        edit        0.8 changed_groups + 0.15 likeness + 0.05 used
        optimise    0.8 gain + 0.15 likeness of scaffolds + 0.05 used
        either      -1 instead where it is no molecule        used: 1 where some tool replied ok

    Args:
        main, likeness, used: the weights; the paper's code has these.

    Example:
        a gain of 0.6, a likeness of scaffolds of 0.8 and a tool used  ->  0.48 + 0.12 + 0.05 = 0.65

    Paper: arXiv:2512.20135 (MolAct), its released code.
    Differs: no search for something like a SMILES in what does not read as one.
    """
    tool = (used, used_tools())
    edit = {"change": (main, changed_groups()), "like": (likeness, kept_likeness()), "used": tool}
    better = {"gain": (main, gained()), "like": (likeness, kept_likeness(scaffold=True)), "used": tool}
    valid = Rung("valid", valid_molecule(), weight=0.0, failed=-1.0)
    return by_task(
        key="kind",
        rewards={
            "edit": ladder([valid, Rung("edit", weighted(edit))]),
            "optimise": ladder([valid, Rung("optimise", weighted(better))]),
        },
    )


def valid_molecule() -> Reward:
    """Give 1 to an attempt that says a molecule, else 0."""
    return outcome(_valid)


def _valid(attempt: Trajectory) -> float:
    return float(read_molecule(said_molecule(attempt)) is not None)


def _source(task: Task) -> str:
    source: str = task.metadata["source"]
    return source


def _gain(attempt: Trajectory, right: float) -> float:
    del right
    if attempt.task.metadata["kind"] != "optimise":
        return 0.0
    return float(gained()(Group(attempt.task, (attempt,))).outcome[0])


def _expert(task: Task, facts: Facts) -> Message:
    check = "valid" if task.metadata["kind"] == "edit" else "property"
    if facts["turn"] == 0 and check in facts["tools"]:
        return Message("assistant", "", (ToolCall(check, {"smiles": task.answer}),))
    return Message("assistant", task.answer)


def _task(number: int, seed: int, split: Split, kinds: Sequence[Kind], world_seed: int) -> Task:
    rng = random.Random(derive_seed("molecules", world_seed, seed, split, number))
    kind = rng.choice(kinds)
    while True:
        given = _drawn(rng)
        right = derive_seed("molecules split", world_seed, canonical(read_molecule(given.smiles))) % 4 == 0
        made = (_edit if kind == "edit" else _improvement)(rng, given) if right == (split == "test") else None
        if made is not None:
            break
    words, answer, more = made
    metadata = {"kind": kind, "source": given.smiles, **more}
    return Task(
        f"molecules-{split}-{seed}-{number}", (Message("user", f"{words} {given.smiles}"),), answer, None, metadata
    )


def _drawn(rng: random.Random) -> _Parts:
    while True:
        core = "".join(rng.choice(CORES) for _ in range(rng.randint(1, 3)))
        front, back = (rng.choice((*ENDS, "", "", "")) for _ in range(2))
        made = _Parts(front, core, back)
        if 3 <= len(made.smiles) <= LONGEST and read_molecule(made.smiles) is not None:
            return made


def _edit(rng: random.Random, given: _Parts) -> tuple[str, str, dict[str, object]] | None:
    """An edit in words, a molecule that is right, and the change; None where this molecule does not take it."""
    groups = [group for group in ENDS if group]
    new, old = rng.choice(groups), rng.choice([given.front, given.back])
    action = rng.choice(("add", "delete", "swap"))
    gone = "" if action == "add" else old
    if (action != "add") != bool(gone) or (action == "swap" and new == old):
        return None
    put = "" if action == "delete" else new
    changed = given._replace(front=put) if given.front == gone else given._replace(back=put)
    if action == "add" and given.front and given.back:
        return None
    change = {group: by for group, by in ((gone, -1), (put, 1)) if group}
    words = {"add": f"add {new}", "delete": f"delete {old}", "swap": f"swap {old} {new}"}[action]
    return (words, changed.smiles, {"change": change}) if _fits(given, changed, change) else None


def _fits(given: _Parts, changed: _Parts, change: Mapping[str, int]) -> bool:
    before, after = read_molecule(given.smiles), read_molecule(changed.smiles)
    counted = before is not None and after is not None
    return counted and all(group_count(after, one) - group_count(before, one) == by for one, by in change.items())


def _improvement(rng: random.Random, given: _Parts) -> tuple[str, str, dict[str, object]] | None:
    """In words, a molecule that is better by the whole threshold, and the property; None where none was found."""
    found = [smiles for smiles in _greasier(given) if _gains(given.smiles, smiles)]
    return ("raise logp", rng.choice(found), {"property": "logp"}) if found else None


def _greasier(given: _Parts) -> Iterator[str]:
    yield from (f"{given._replace(back='').smiles}{tail}" for tail in GREASE)


def _gains(before: str, after: str) -> bool:
    old, new = read_molecule(before), read_molecule(after)
    if old is None or new is None:
        return False
    return alike(old, new) > KEPT and property_of(new, "logp") - property_of(old, "logp") >= THRESHOLDS["logp"]
