import ast
import keyword

from hypothesis import given
from hypothesis import strategies as st

from handaxe.papers.text2reward.numbers_class import numbers_class
from handaxe.training.stages.parts.program_search import Brief, Feedback


def described(**values):
    brief = Brief(tuple(values), Feedback(), values={name: tuple(own) for name, own in values.items()})
    return numbers_class(brief).splitlines()[3:]


def test_numbers_class_matches_its_example():
    assert described(ok=[0.0, 1.0], tokens=[0.0, 4.0, 9.0, 12.0, 17.0, 20.0]) == [
        "    ok: bool  # 0, 1",
        "    tokens: int  # 0 to 20",
    ]


def test_types_follow_from_the_values():
    assert described(near=[0.25, 1.0], door=[-1.0, 0.0], key=[-1.0], at=[-1.0, 2.0], none=[]) == [
        "    near: float  # 0.25, 1",
        "    door: bool  # 0",
        "    key: float",
        "    at: int  # 2",
        "    none: float",
    ]


NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))


@given(st.dictionaries(NAMES, st.lists(st.floats(-9, 9), max_size=8), max_size=6))
def test_the_description_is_python_with_every_name(values):
    text = numbers_class(Brief(tuple(values), Feedback(), values={name: tuple(own) for name, own in values.items()}))
    (made,) = ast.parse(text.split("\n", 1)[1]).body
    assert [one.target.id for one in made.body if isinstance(one, ast.AnnAssign)] == list(values)
