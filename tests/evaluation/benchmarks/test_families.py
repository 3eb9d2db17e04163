"""Members of the families, and a scripted policy that solves one size of sums alone."""

import pytest

from handaxe.evaluation.benchmarks.families import FAMILIES, families, sums_world
from handaxe.evaluation.benchmarks.families_table import families_table
from handaxe.evaluation.benchmarks.play import play_benchmark
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.testing.scripted_engine import ScriptedEngine


def test_parts_are_the_members():
    names = [one.name for one in families().parts]
    assert len(names) == len(set(names)) == 9 + 12
    assert names[0] == "sums, 2 terms, 1 digits" and names[-1] == "hops, 4 facts, 2 namesakes"
    assert all(family.point in family.members() for family in FAMILIES.values())


def test_sums_have_the_size_of_the_member():
    pytest.importorskip("reasoning_gym")
    for task in sums_world(3, 2).tasks("test", 5, 0):
        numbers = task.metadata["entry"]["expression"].replace("-", "+").split("+")
        assert len(numbers) == 3 and all(len(one.strip()) == 2 for one in numbers)


def test_a_policy_of_the_point_alone_has_a_gap():
    pytest.importorskip("reasoning_gym")
    names = ("sums",)
    some = {name: FAMILIES[name] for name in names}
    made = families()
    parts = tuple(one for one in made.parts if one.name.startswith(names))
    point = sums_world(*FAMILIES["sums"].point).tasks("test", 2, 0)

    def script(text, turn):
        return next((task.answer for task in point if task.messages[-1].content in text), "none")

    benchmark = made.__class__(
        name="x", parts=parts, table=lambda found: families_table(found, families=some), max_turns=2, max_tokens=64
    )
    found = play_benchmark(benchmark, engine=ScriptedEngine(Transcript(), script), format=Transcript(), tasks=2)
    value = {row[0]: row[1] for row in benchmark.table(found).rows}
    assert value["sums, point"] == value["sums, highest"] == 1 and value["sums, lowest"] == 0
    assert value["sums, family"] == pytest.approx(1 / 9) and value["sums, point - family"] == pytest.approx(8 / 9)
