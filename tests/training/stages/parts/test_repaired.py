import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.training.stages.parts.program_search import Brief, Feedback
from handaxe.training.stages.parts.repaired import repaired

NEXT = {"b": "c", "c": "d"}


def written(repairs, *, runs=("a", "d"), seeds=None):
    def repair(text, brief, seed):
        if seeds is not None:
            seeds.append(seed)
        return NEXT.get(text, text)

    author = repaired(author=lambda brief, count, seed: ["a", "b"][:count], repair=repair, repairs=repairs)
    return author(Brief(("ok",), Feedback(), lambda text: "" if text in runs else f"{text} fails"), 2, 5)


@pytest.mark.parametrize(("repairs", "texts"), [(0, ["a", "b"]), (1, ["a", "c"]), (2, ["a", "d"]), (9, ["a", "d"])])
def test_repaired_matches_its_example(repairs, texts):
    assert written(repairs) == texts


def test_repaired_gives_up_after_the_last_repair_with_a_new_seed_each_time():
    seeds = []
    assert written(3, runs=("a",), seeds=seeds) == ["a", "d"]
    assert len(set(seeds)) == len(seeds) == 3


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.integers(0, 5))
def test_a_program_with_as_many_errors_as_repairs_runs(errors, repairs):
    """A program is its number of errors left; each repair removes one."""
    author = repaired(
        author=lambda brief, count, seed: [str(one) for one in errors],
        repair=lambda text, brief, seed: str(int(text) - 1),
        repairs=repairs,
    )
    found = author(Brief((), Feedback(), lambda text: "" if text == "0" else "fails"), len(errors), 0)
    assert [int(text) for text in found] == [max(0, one - repairs) for one in errors]


def test_repaired_refuses_a_negative_number():
    with pytest.raises(InputError, match="repairs is -1"):
        repaired(author=lambda *_: [], repair=lambda *_: "", repairs=-1)
