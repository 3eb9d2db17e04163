"""Mixture of the small policy's training data: demonstrations of every world, as token ids on disk.

    SETTINGS --expert plays--> demonstrations/NAME-DIGEST.npz   ids of `Compact` and mask, made once
                    --cut at control ids, encode--> tokens in memory      ids of `Pieces`

Prose is the form of most demonstrations of a world with two forms. Worlds in MODULE:FUNCTION form are those of papers.
Not in the mixture: facts and twenty_questions, which stay new worlds for comparisons; miniwob, which needs a browser;
worlds of images, which need a policy with vision; worlds over files or models of the user.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import handaxe
from handaxe import worlds
from handaxe.core.import_string import attribute
from handaxe.core.records import Message, Trajectory
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.ops.cache_path import content_digest
from handaxe.ops.seeds import derive_seed
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python
from handaxe.training.sft.cold_conversations import conversations
from handaxe.training.sft.cold_start import TASKS, demonstrations
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.worlds.world import World

__all__ = ["LESSONS", "SETTINGS", "Setting", "StoredSequences", "encode", "load_demonstrations", "lookup", "texts"]

SAMPLE = 300_000
"""Most bytes of a setting's distinct texts that the vocabulary is learnt from."""
LESSONS = ("lessons", "lookups")
"""Names of the settings without a world: copying lessons, the first part of the curriculum."""


@dataclass(frozen=True)
class Setting:
    """A world with options, or copying lessons.

    Attributes:
        name: of the row in tables and of the file on disk; one of LESSONS, or any other.
        world: name in `handaxe.worlds`, or MODULE:FUNCTION; "" for lessons.
        options: of the world.
        count: demonstrations, each of a separate task as far as there are tasks.
        weight: share of the ids of a step, relative to the other settings.
        early: part of the curriculum's first steps.
    """

    name: str
    world: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    count: int = 3000
    weight: float = 1.0
    early: bool = False

    def make(self) -> World:
        """Create the world."""
        found = attribute(self.world, noun="world", example="m:w") if ":" in self.world else getattr(worlds, self.world)
        made: World = found(**self.options)
        return made


def _both(
    name: str, world: str = "", *, count: int = 3000, brief: Mapping[str, Any] | None = None
) -> tuple[Setting, Setting]:
    """Prose and brief form of a world; `brief` holds the options of the brief form."""
    prose = Setting(f"{name} prose", world or name, {"brief": False}, count)
    return prose, Setting(name, world or name, brief or {}, count, 0.6)


RETAIL = {"domain": "retail", "user": "requests"}
SETTINGS: tuple[Setting, ...] = (
    Setting("lessons", count=16000, weight=2.0, early=True),
    Setting("lookups", count=16000, weight=2.0, early=True),
    Setting("arithmetic", "arithmetic", count=4000, early=True),
    Setting("arithmetic mistakes", "arithmetic", {"easy": 0.0, "mistakes": True}, early=True),
    Setting("calls", "calls", count=4000, early=True),
    Setting("gym", "gym", count=4000, early=True),
    Setting("one hop prose", "hops", {"lengths": (1,), "brief": False}, early=True),
    Setting("one hop", "hops", {"lengths": (1,)}, early=True),
    *_both("hops"),
    Setting("library", "library", count=4000),
    Setting("worked_steps", "worked_steps"),
    Setting("screen", "screen", {"told": True}, count=2000, weight=0.5),
    *_both("minigrid", "minigrid_text", count=1500, brief={"size": 6}),
    *_both("textworld", count=1500),
    *_both("textarena", count=1500),
    *_both("scienceworld", count=800),
    *_both("atlas"),
    *_both("toolbox", count=2000),
    *_both("repair", count=600),
    Setting("bfcl short", "bfcl", {"category": ("short",)}, 2000),
    Setting("bfcl single calls", "bfcl", {"single_calls": True}, 450, 0.4),
    Setting("bfcl simple", "bfcl", {"category": ("simple_python",)}, 900, 0.4),
    Setting("tau2 retail", "tau2", {**RETAIL, "brief": True, "personas": ("static",)}, 1500),
    Setting("tau2 retail prose", "tau2", {**RETAIL, "policy": "none"}, 200, 0.4),
    Setting("tau2 telecom", "tau2", {"brief": True}, 400, 0.4),
    *_both("toolchains", "handaxe.papers.ftrl.toolchains:toolchains"),
    *_both("journeys", "handaxe.papers.deeptravel.journeys:journeys", count=2000),
    *_both("tables", "handaxe.papers.reasoning_sql.tables:tables"),
    Setting("workspace", "handaxe.papers.gated.workspace:workspace"),
    Setting("shelves", "handaxe.papers.marag.shelves:shelves"),
)


@dataclass(frozen=True, eq=False)
class StoredSequences:
    """Sequences of a setting, end to end.

    Attributes:
        ids_N: uint16.
        mask_N: bool, True on the policy's ids.
        ends_S: int64, index after the last id of each sequence.
    """

    ids_N: np.ndarray
    mask_N: np.ndarray
    ends_S: np.ndarray

    def __len__(self) -> int:
        return len(self.ends_S)

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and mask of a sequence."""
        part = slice(int(self.ends_S[number - 1]) if number else 0, int(self.ends_S[number]))
        return self.ids_N[part], self.mask_N[part]

    def lengths(self) -> np.ndarray:
        """Return the number of ids of each sequence."""
        return np.diff(self.ends_S, prepend=0)


def load_demonstrations(setting: Setting, folder: Path, *, seed: int = 0) -> StoredSequences:
    """Load a setting's demonstrations in ids of `Compact`; make and store them if the folder lacks them.

    Raises:
        InputError: the world's extra is missing, or its expert fails.
    """
    digest = content_digest([handaxe.__version__, repr(setting), str(seed)])
    file = folder / f"{setting.name.replace(' ', '_')}-{digest}.npz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        played = _lessons(setting, seed) if setting.name in LESSONS else _played(setting, seed)
        sequences = [sequence for one in played for sequence in one.sequences]
        made = _joined([(np.asarray(one.ids), np.asarray(one.mask)) for one in sequences])
        with tempfile.TemporaryDirectory(dir=folder) as work:
            np.savez_compressed(Path(work) / "made.npz", **vars(made))
            (Path(work) / "made.npz").replace(file)
    with np.load(file) as found:
        return StoredSequences(found["ids_N"], found["mask_N"], found["ends_S"])


def texts(demonstrations: StoredSequences, *, most: int = SAMPLE) -> Iterator[str]:
    """Yield the distinct texts between control ids, up to `most` bytes."""
    seen, size = set[bytes](), 0
    for number in range(len(demonstrations)):
        for text, _, _ in _segments(*demonstrations[number]):
            if not text or text in seen:
                continue
            seen.add(text)
            size += len(text)
            if size > most:
                return
            yield text.decode(errors="replace")


def encode(demonstrations: StoredSequences, format: Pieces, *, context: int) -> StoredSequences:
    """Convert ids of `Compact` to those of `Pieces`; sequences longer than `context` are left out."""
    known = dict[bytes, list[int]]()
    out = list[tuple[np.ndarray, np.ndarray]]()
    for number in range(len(demonstrations)):
        ids, mask = list[int](), list[bool]()
        for text, control, own in _segments(*demonstrations[number]):
            if text not in known:
                known[text] = format.encode(text.decode())
            ids += known[text]
            mask += [own] * len(known[text])
            if control is not None:
                ids.append(control[0])
                mask.append(control[1])
        if len(ids) <= context:
            out.append((np.array(ids), np.array(mask)))
    return _joined(out)


def _segments(ids: np.ndarray, mask: np.ndarray) -> Iterator[tuple[bytes, tuple[int, bool] | None, bool]]:
    """Yield each text up to a control id, the control id with its mask (None at the end), and the mask of the text."""
    start = 0
    for stop in np.flatnonzero(ids >= 256).tolist():
        own = bool(mask[start]) if stop > start else False
        yield ids[start:stop].astype(np.uint8).tobytes(), (int(ids[stop]), bool(mask[stop])), own
        start = stop + 1
    if start < len(ids):
        yield ids[start:].astype(np.uint8).tobytes(), None, bool(mask[start])


def _joined(sequences: Sequence[tuple[np.ndarray, np.ndarray]]) -> StoredSequences:
    ends = np.cumsum([len(ids) for ids, _ in sequences], dtype=np.int64)
    return StoredSequences(
        np.concatenate([ids for ids, _ in sequences]).astype(np.uint16),
        np.concatenate([mask for _, mask in sequences]).astype(bool),
        ends,
    )


def _played(setting: Setting, seed: int) -> list[Trajectory]:
    world = setting.make()
    tasks = world.tasks("train", min(setting.count, TASKS), seed)
    # Text of any length fits: sequences beyond the context are left out after encoding.
    return demonstrations(world, world.env(world.tools), tasks, count=setting.count, seed=seed, context=1 << 20)


def _lessons(setting: Setting, seed: int) -> list[Trajectory]:
    format = Compact()
    if setting.name == "lookups":
        return [
            trajectory_from_messages(format, lookup(derive_seed("lookup", seed, number)), id=f"lookup/{number}")
            for number in range(setting.count)
        ]
    schemas = {tool.schema.name: tool.schema for tool in (calculator, compute, python())}
    shown = conversations(schemas, count=setting.count, seed=2 * seed, weak=0.0)
    return [trajectory_from_messages(format, one.messages, one.tools, id=f"lesson/{i}") for i, one in enumerate(shown)]


CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"


def lookup(seed: int) -> list[Message]:
    """Make a lesson in copying: lines of made-up names with a value, and questions for some of them.

    Example:
        user "Ruvo: 41 tema\nBasilo: 7\nRuvo?", assistant "41 tema", user "Basilo?", assistant "7"
    """
    rng = random.Random(seed)
    words = (_word(rng, title=rng.choice([True, False])) for _ in range(rng.randrange(1, 7)))
    names = list(dict.fromkeys(words))
    values = [_value(rng) for _ in names]
    separator = rng.choice([": ", " is ", " -> ", "="])
    shown = "".join(f"{name}{separator}{value}\n" for name, value in zip(names, values))
    messages = list[Message]()
    for number in rng.sample(range(len(names)), min(len(names), rng.randrange(1, 4))):
        messages += [Message("user", f"{shown}{names[number]}?"), Message("assistant", values[number])]
        shown = ""
    return messages


def _word(rng: random.Random, *, title: bool = False) -> str:
    word = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randrange(1, 4)))
    return word.title() if title else word


def _value(rng: random.Random) -> str:
    """Make one to three words and numbers."""
    return " ".join(
        rng.choice([_word(rng), str(rng.randrange(10 ** rng.randrange(1, 4)))]) for _ in range(rng.choice([1, 1, 2, 3]))
    )
