"""Words of the options of a part."""

from handaxe.commands.part_words import part_words
from handaxe.methods.run_spec import NamedFactory
from handaxe.worlds.jsonl import jsonl


def flagged(*, plain: bool = False, on: bool = True, size: int = 1, names: tuple[str, ...] = ()):
    return plain, on, size, names


def test_options_that_differ_from_their_defaults_become_words():
    values = {"plain": True, "on": False, "size": 2, "names": ("a b", "c")}
    words = part_words(NamedFactory("flagged", flagged), values, prefix="world")
    assert words == ["--world.plain", "--world.no-on", "--world.size", "2", "--world.names", "a b", "c"]


def test_defaults_are_left_out():
    factory = NamedFactory("jsonl", jsonl)
    values = {one.name: one.default for one in factory.options()} | {"file": "a.csv", "test_share": 0.5}
    assert part_words(factory, values, prefix="world") == ["--world.file", "a.csv", "--world.test-share", "0.5"]
