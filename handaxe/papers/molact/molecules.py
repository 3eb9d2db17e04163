"""Molecules to edit by a functional group, or to improve in a property."""

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
from handaxe.papers.molact.molecule import alike, canonical, compute_property, group_count, read_molecule
from handaxe.papers.molact.molecule_tools import molecules as molecule_tools
from handaxe.papers.molact.property_gain import THRESHOLDS, property_gain
from handaxe.rewards.dispatch import dispatch
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.outcome import outcome
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = [
    "Kind",
    "changed_groups",
    "gained",
    "molecules",
    "predicted_molecule",
    "select_kind",
    "shaped",
    "source_similarity",
    "valid_molecule",
]

Kind = Literal["edit", "optimise"]
KINDS: tuple[Kind, ...] = ("edit", "optimise")
START = Start(
    DemonstrationNoise(call_rate=0.5, corrupt_rate=0.2), skill=150, steps=30, batch_size=16, learning_rate=2e-3
)
MIN_SIMILARITY = 0.4
"""Minimum similarity to the given molecule for a correct gain; no molecule is similar to all others, so that no
constant answer is correct.
"""
LONGEST = 24
"""Character limit of a molecule in a question."""
CORES = ("C", "CC", "C(C)", "CC(C)", "CCC", "c1ccc(cc1)", "C1CCC(CC1)")
"""Fragments that can be concatenated, and take a group at both ends."""
ENDS: Mapping[str, tuple[str, str]] = {
    "": ("", ""),
    "hydroxyl": ("O", "O"),
    "amine": ("N", "N"),
    "fluoro": ("F", "F"),
    "chloro": ("Cl", "Cl"),
    "nitrile": ("N#C", "C#N"),
    "acid": ("OC(=O)", "C(=O)O"),
}
"""Functional group -> SMILES at the front and at the back."""
LIPOPHILIC_ENDS = ("CC", "CCC", "Cl")
"""Replacement of the group at the back that raises logP."""


class _Parts(NamedTuple):
    """Molecule: a group at the front ("" for none), a core, and a group at the back."""

    front: str
    core: str
    back: str

    @property
    def smiles(self) -> str:
        return f"{ENDS[self.front][0]}{self.core}{ENDS[self.back][1]}"


def molecules(*, kinds: tuple[Kind, ...] = KINDS, world_seed: int = 0) -> World:
    """Small molecules as SMILES: edit a functional group, or improve logP by 0.5 or more.

    An edit adds, deletes or replaces a group; an answer is correct if the counts of groups change as requested. An
    improvement is scored by its gain, and 0 for a similarity to the given molecule of at most 0.4. Tools check a
    SMILES, count its groups, and compute its properties. The answer of a rollout is the last molecule accepted by the
    tool `valid`, or else the final text.

    Args:
        kinds: kinds of questions, edit and optimise; drawn evenly.
        world_seed: seed of the split of molecules.

    Returns:
        A world broken down by "kind", with the gauges property_gain (share of the full gain, of improvements) and valid
        (share of rollouts with a valid molecule).

    Raises:
        InputError: other kinds; rdkit is not installed (extra [chem]), when tasks are made.

    Example:
        answers of "add hydroxyl CCCF" are OCCCF and CC(O)CF; an answer of "raise logp CCO" is CCCC
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
        correct=dispatch(key="kind", rewards={"edit": changed_groups(), "optimise": _improved()}),
        tools=tuple(molecule_tools()),
        breakdown=("kind",),
        is_answer=is_text_answer,
        expert=_expert,
        start=START,
        gauges={
            "property_gain": RatioMetric(_gain, lambda one, outcome: float(one.task.metadata["kind"] == "optimise")),
            "valid": RatioMetric(lambda one, outcome: _valid(one)),
        },
    )


def predicted_molecule(trajectory: Trajectory) -> str:
    """Return the last SMILES accepted by the tool `valid`, or else the final text."""
    accepted = [reply.content for reply in trajectory.replies if reply.name == "valid" and reply.status == "ok"]
    return accepted[-1] if accepted else trajectory.final_text.strip()


def select_kind(tasks: Sequence[Task], kind: str) -> list[Task]:
    """Select the tasks of a kind, in order.

    Raises:
        TaskError: there is none.
    """
    selected = [task for task in tasks if task.metadata.get("kind") == kind]
    if not selected:
        raise TaskError(f"of {len(tasks)} tasks none is of the kind {kind!r}")
    return selected


def changed_groups() -> Reward:
    """Create a reward of 1 for the requested change of groups; see `papers.molact.group_count_change`."""
    return group_count_change(
        source=_source, change=lambda task: task.metadata.get("change", {}), extract=predicted_molecule
    )


def gained() -> Reward:
    """Create a reward of the requested property's gain; see `papers.molact.property_gain`."""
    return property_gain(source=_source, name=lambda task: task.metadata["property"], extract=predicted_molecule)


def _improved() -> Reward:
    """Gain of molecules with sufficient similarity."""
    return ladder(
        [Rung("like", source_similarity(), weight=0.0, above=MIN_SIMILARITY, failed=0.0), Rung("gain", gained())]
    )


def source_similarity(*, scaffold: bool = False) -> Reward:
    """Create the similarity to the given molecule; see `papers.molact.fingerprint_similarity`."""
    return fingerprint_similarity(source=_source, scaffold=scaffold, extract=predicted_molecule)


def shaped(*, main: float = 0.8, likeness: float = 0.15, used: float = 0.05) -> Reward:
    """Create MolAct's reward by kind of task.

        edit        0.8 changed_groups + 0.15 likeness + 0.05 used
        optimise    0.8 gain + 0.15 likeness of scaffolds + 0.05 used
        either      -1 instead for an invalid molecule        used: 1 after a successful tool call

    Args:
        main, likeness, used: the weights, by default those of the paper's code.

    Example:
        a gain of 0.6, a scaffold similarity of 0.8 and a successful tool call  ->  0.48 + 0.12 + 0.05 = 0.65

    Paper: arXiv:2512.20135 (MolAct), its released code.
    Differs: no search for a SMILES-like part of unreadable text.
    """
    tool = (used, used_tools())
    edit = {"change": (main, changed_groups()), "like": (likeness, source_similarity()), "used": tool}
    better = {"gain": (main, gained()), "like": (likeness, source_similarity(scaffold=True)), "used": tool}
    valid = Rung("valid", valid_molecule(), weight=0.0, failed=-1.0)
    return dispatch(
        key="kind",
        rewards={
            "edit": ladder([valid, Rung("edit", weighted(edit))]),
            "optimise": ladder([valid, Rung("optimise", weighted(better))]),
        },
    )


def valid_molecule() -> Reward:
    """Create a reward of 1 for a valid molecule, else 0."""
    return outcome(_valid)


def _valid(trajectory: Trajectory) -> float:
    return float(read_molecule(predicted_molecule(trajectory)) is not None)


def _source(task: Task) -> str:
    source: str = task.metadata["source"]
    return source


def _gain(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    if trajectory.task.metadata["kind"] != "optimise":
        return 0.0
    return float(gained()(Group(trajectory.task, (trajectory,))).outcome[0])


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
    """Instruction, correct molecule and change of an edit; None for an impossible edit."""
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
    """Instruction, a molecule better by the whole threshold, and the property; None without such a molecule."""
    found = [smiles for smiles in _raised_logp(given) if _gains(given.smiles, smiles)]
    return ("raise logp", rng.choice(found), {"property": "logp"}) if found else None


def _raised_logp(given: _Parts) -> Iterator[str]:
    yield from (f"{given._replace(back='').smiles}{tail}" for tail in LIPOPHILIC_ENDS)


def _gains(before: str, after: str) -> bool:
    old, new = read_molecule(before), read_molecule(after)
    if old is None or new is None:
        return False
    return (
        alike(old, new) > MIN_SIMILARITY
        and compute_property(new, "logp") - compute_property(old, "logp") >= THRESHOLDS["logp"]
    )
