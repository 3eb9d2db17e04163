"""Text games of the package textworld: made here by seed, kept in the cache folder, and played by one tool."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import random
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.ops.cache import cached, digest
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import tool
from handaxe.worlds.world import Split

__all__ = ["Game", "GameOpening", "Games", "Kind"]

Kind = Literal["easy", "medium", "hard"]
LEADS_ON = ("go", "take", "open", "unlock")
"""First words of commands that are told in brief; the others lead nowhere in these games."""
TEST_SHARE = 4
"""One game in so many is a test game."""

PARSER = threading.RLock()
"""Held wherever textworld is at work: its parser keeps one state for the whole process, and rollouts have threads."""


class GameOpening(NamedTuple):
    """What is known of a game before it begins: the thing to find, what is seen first, and a way to win."""

    thing: str
    seen: str
    walkthrough: list[str]

    @property
    def split(self) -> Split:
        """Decided by what is seen of the game, so that nothing that can be asked is in both."""
        return "test" if derive_seed("textworld", self.thing, self.seen) % TEST_SHARE == 0 else "train"


class Games:
    """A shelf of games of one kind, each made when it is first asked for; the same everywhere for one version of
    textworld.

    Args:
        kind, rooms, length: see `worlds.textworld.world`.
        count: how many there are; some numbers stay empty, where the map permits no way of this length.

    Raises:
        InputError: an argument out of range, or textworld is not installed.
    """

    def __init__(self, *, kind: Kind, rooms: int, length: int, count: int):
        if kind not in ("easy", "medium", "hard") or not 1 <= length <= rooms <= 30 or count < 8:
            raise InputError(
                "a game is easy, medium or hard, has 1 to 30 rooms and as many steps or fewer, and there are 8 of them "
                f"or more: kind {kind!r}, rooms {rooms}, length {length}, games {count}"
            )
        _textworld()
        self.settings, self.count = (kind, rooms, length), count
        parts = [importlib.metadata.version("textworld"), kind, str(rooms), str(length)]
        self.folder = cached("textworld", f"{kind}-{rooms}-{length}-{digest(parts)}")
        self._known: dict[int, GameOpening | None] = {}

    def opening(self, number: int) -> GameOpening | None:
        """What is known of a game; None where there is none of this number."""
        if number not in self._known:
            file = self.file(number).with_suffix(".opening")
            if not file.exists():
                self._make(number)
            found = json.loads(file.read_text())
            self._known[number] = None if found is None else GameOpening(*found)
        return self._known[number]

    def of(self, split: Split, seed: int) -> Iterator[int]:
        """Numbers of the games of a split in an order of their own, again and again.

        Raises:
            InputError: there is no game of this split.
        """
        order, mine = list(range(self.count)), 0
        random.Random(derive_seed("textworld games", seed)).shuffle(order)
        while True:
            for number in order:
                opening = self.opening(number)
                if opening is not None and opening.split == split:
                    mine += 1
                    yield number
            if not mine:
                raise InputError(f"none of {self.count} games of textworld is to {split}: have more games")

    def file(self, number: int, *, text: bool = False) -> Path:
        """The file of a game; with `text` the one that is compiled to the game's own text."""
        path = self.folder / f"{number}.json"
        if not text:
            return path
        if not path.with_suffix(".z8").exists():
            self._compile(path)
        return path.with_suffix(".z8")

    def _make(self, number: int) -> None:
        textworld = _textworld()
        from textworld.challenges.tw_treasure_hunter import treasure_hunter
        from textworld.generator.chaining import QuestGenerationError

        kind, rooms, length = self.settings
        options = textworld.GameOptions()
        options.seeds = derive_seed("textworld game", number) % 2**31
        options.kb = self._rules
        options.nb_rooms, options.quest_length = rooms, length
        self.folder.mkdir(exist_ok=True)
        with PARSER, tempfile.TemporaryDirectory(dir=self.folder) as work:
            made, opening = Path(work) / "game.json", None
            try:
                treasure_hunter.make_game(kind, options).save(str(made))
            except QuestGenerationError:
                pass
            else:
                game = Game(made)
                way = game.facts()["policy_commands"]
                opening = GameOpening(_thing(way[-1]), game.seen, way)
                made.replace(self.file(number))
            told = Path(work) / "told"
            told.write_text(json.dumps(opening))
            told.replace(self.file(number).with_suffix(".opening"))  # the last to come, so that all is there

    @functools.cached_property
    def _rules(self) -> Any:
        """What may be in these games; a quarter of a second to read."""
        from textworld.challenges.tw_treasure_hunter import treasure_hunter

        with PARSER:
            return _textworld().generator.data.KnowledgeBase.load(treasure_hunter.KB_PATH)

    def _compile(self, path: Path) -> None:
        textworld = _textworld()
        options = textworld.GameOptions()
        with PARSER, tempfile.TemporaryDirectory(dir=self.folder) as work:
            options.path, options.force_recompile = os.path.join(work, "game.z8"), True
            made = textworld.generator.compile_game(textworld.Game.load(str(path)), options)
            Path(made).replace(path.with_suffix(".z8"))


class Game:
    """One game at work, with the tool that plays it. A snapshot is the list of commands given: they lead to the same
    state again, since nothing in these games is drawn.

    Args:
        file: of the game. What a compiled one replies is its own text; else it is the room and what can be done there.
    """

    def __init__(self, file: Path):
        textworld = _textworld()
        self._text = file.suffix == ".z8"
        wanted = textworld.EnvInfos(policy_commands=True, admissible_commands=True, won=True, lost=True, facts=True)
        with PARSER:
            self._env = textworld.start(str(file), wanted)
        self._begin()

    def _begin(self) -> None:
        with PARSER:
            self._state, self._given = self._env.reset(), list[str]()

    @tool(timeout=None, max_chars=2_000)
    def do(self, command: Annotated[str, "such as: go north, take lamp, open chest, unlock door with key"]) -> str:
        """Give a command to the game; it says what comes of it."""
        if self.over:
            raise Retry("the game is over")
        said = " ".join(command.split())
        known = {one.lower(): one for one in self._state["admissible_commands"]}
        if not self._text and said.lower() not in known:
            raise Retry(f"no. {self.seen}")
        self._give(known.get(said.lower(), said))
        if self.over:
            return "you won" if self._state["won"] else "you lost"
        return self._own_text() if self._text else self.seen

    def _give(self, command: str) -> None:
        with PARSER:
            self._state, _, _ = self._env.step(command)
        self._given.append(command)

    @property
    def over(self) -> bool:
        """Whether it is won or lost."""
        return bool(self._state["won"] or self._state["lost"])

    @property
    def seen(self) -> str:
        """The room, and the commands there that may lead on."""
        (room,) = re.findall(r"^at\(P, (.+): r\)$", "\n".join(map(str, self._state["facts"])), re.MULTILINE)
        ways = [one for one in self._state["admissible_commands"] if one.split()[0] in LEADS_ON]
        return f"{room}: {', '.join(ways)}"

    def _own_text(self) -> str:
        """What the game says, without its prompt and its empty lines."""
        return re.sub(r"\s*\n\s*", "\n", self._state.feedback.partition("\n>")[0]).strip()

    def facts(self) -> dict[str, Any]:
        """The state, as JSON: commands that win from here, whether it is won or lost, and commands given."""
        way = [str(one) for one in self._state["policy_commands"] or ()]
        won, lost = bool(self._state["won"]), bool(self._state["lost"])
        return {"policy_commands": way, "won": won, "lost": lost, "steps": len(self._given)}

    def report(self) -> Mapping[str, Any]:
        """The facts, and how many commands are left to go."""
        found = self.facts()
        return {**found, "left": len(found["policy_commands"])}

    def snapshot(self) -> list[str]:
        """The commands given so far."""
        return list(self._given)

    def restore(self, state: list[str]) -> None:
        """Begin anew and give these commands."""
        self._begin()
        for command in state:
            self._give(command)

    def stop(self) -> None:
        """Release what the game's machine holds."""
        self._env.close()


def _thing(command: str) -> str:
    """What the last command takes: "take lamp from chest" -> "lamp"."""
    return re.sub(r"^take (.+?)( from .+)?$", r"\1", command)


def _textworld() -> Any:
    try:
        import textworld
        import textworld.generator.data
    except ImportError as error:
        raise InputError(
            f'text games need textworld ({error}): pip install "handaxe[textworld]", then, without the language models '
            "that it would pull, pip install --no-deps textworld jericho"
        ) from error
    return textworld
