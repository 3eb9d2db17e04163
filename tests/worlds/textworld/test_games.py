"""Games: deterministic, cached, and split by their opening."""

import itertools
import subprocess
import sys

import pytest

pytest.importorskip("textworld")

from handaxe.core.errors import InputError, Retry
from handaxe.worlds.textworld.games import Game, GameOpening, Games

PRINT = """
from handaxe.worlds.textworld.games import Games
shelf = Games(kind="easy", rooms=3, length=2, count=8)
print([shelf.opening(n) for n in (3, 1)])
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def shelf(count=30, **changes):
    return Games(**{"kind": "easy", "rooms": 3, "length": 2, "count": count} | changes)


@pytest.mark.slow
def test_games_are_equal_across_processes(tmp_path):
    mine = shelf()
    wanted = str([mine.opening(n) for n in (3, 1)])
    environment = {
        "HANDAXE_CACHE": str(tmp_path),
        "PYTHONHASHSEED": "5",
        "PYTHONPATH": ":".join(filter(None, sys.path)),
    }
    found = subprocess.run([sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == wanted


@pytest.mark.slow
def test_games_are_cached_and_split_by_their_opening():
    mine = shelf()
    train, test = (set(itertools.islice(mine.cycle(split, 0), 60)) for split in ("train", "test"))
    assert train | test == set(range(30)) and not train & test and len(train) > len(test)
    seen = [{mine.opening(n)[:2] for n in half} for half in (train, test)]
    assert not seen[0] & seen[1]
    before = {one.name: one.stat().st_mtime_ns for one in mine.folder.iterdir()}
    again = shelf()
    assert list(itertools.islice(again.cycle("train", 1), 9)) != list(itertools.islice(mine.cycle("train", 0), 9))
    assert {one.name: one.stat().st_mtime_ns for one in mine.folder.iterdir()} == before


def test_the_opening_shows_the_room_and_useful_commands():
    thing, seen, way = shelf().opening(3)
    room, _, commands = seen.partition(": ")
    assert room and way[0] in commands.split(", ") and way[-1] == f"take {thing}" and len(way) == 2
    assert "look" not in commands and "inventory" not in commands


@pytest.mark.parametrize("kind", ["medium", "hard"])
def test_hard_games_have_doors_and_containers(kind):
    mine = shelf(8, kind=kind, rooms=4, length=3)
    number = next(mine.cycle("train", 0))
    game = Game(mine.file(number))
    for command in mine.opening(number).walkthrough:
        game.do(command)
    assert game.is_over and game.report()["won"]
    with pytest.raises(Retry, match="over"):
        game.do("look")
    game.stop()


def test_commands_ignore_case_and_spaces():
    mine = shelf()
    game = Game(mine.file(3))
    first = mine.opening(3).walkthrough[0]
    assert game.do(f"  {first.upper().replace(' ', '  ')} ") == game.seen and game.snapshot() == [first]
    game.stop()


def test_games_with_a_shorter_path_are_left_out_on_request():
    mine = shelf(30)
    mine._known = {
        n: GameOpening(f"thing {n}", "attic: go east", ["go east"] * (n % 3) + ["take it"]) for n in range(30)
    }
    every, long = (set(itertools.islice(mine.cycle("train", 0, shortest=k), 60)) for k in (1, 3))
    assert {n % 3 for n in every} == {0, 1, 2} and long == {n for n in every if n % 3 == 2}
    with pytest.raises(InputError, match="none of 30 games of textworld is to test: .* or a lower shortest"):
        next(mine.cycle("test", 0, shortest=9))


def test_an_empty_split_raises(monkeypatch):
    mine = shelf(8)
    monkeypatch.setattr(sys.modules[Games.__module__], "content_split", lambda *content: "test")
    with pytest.raises(InputError, match="none of 8 games of textworld is to train: have more games"):
        next(mine.cycle("train", 0))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(InputError, match=r"handaxe\[textworld\].*--no-deps textworld jericho"):
        shelf()
