import functools
import random
import re
import subprocess
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Message, Task
from handaxe.credit.group_norm import group_norm
from handaxe.training.record.value_fingerprint import code_version, fingerprint


@dataclass
class Holds:
    value: object


class Slots:
    __slots__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept


class Method:
    def __init__(self, kept):
        self.kept = kept

    def call(self):
        return self.kept


def of(value):
    return list(fingerprint(value))


def adds(number, *, more=0):
    def add(x):
        return x + number + more

    return add


def defaults(number):
    def add(x, y=number, *, z=number):
        return x + y + z

    return add


MAKERS = [
    lambda x: x,
    lambda x: {"a": [x, (x,)]},
    lambda x: {x},
    Holds,
    Slots,
    adds,
    defaults,
    lambda x: functools.partial(adds, x),
    lambda x: Method(x).call,
    lambda x: np.array([x, 2]),
    lambda x: torch.tensor([[x]]),
    lambda x: Task(f"t{x}", (Message("user", "?"),)),
    lambda x: group_norm(eps=float(x)),
    lambda x: re.compile(str(x)),
]


@pytest.mark.parametrize("make", MAKERS)
def test_equal_where_it_is_equal_and_different_where_it_differs(make):
    assert of(make(1)) == of(make(1)) and of(make(1)) != of(make(2))


def test_code_and_kind_count():
    assert of(lambda x: x + 1) != of(lambda x: x + 2)
    assert of(1) != of(1.0) != of("1") and of([1]) != of((1,)) and of(None) != of(0)
    assert of({"a": 1, "b": 2}) != of({"a": 2, "b": 1})
    assert of(np.zeros(2)) != of(np.zeros((2, 1))) and of(np.zeros(2)) != of(np.zeros(2, np.float32))

    def same_name(body):
        return type("Mine", (), {"__call__": body, "__module__": "mine"})

    assert of(same_name(lambda self: 1)()) != of(same_name(lambda self: 2)())


def test_what_holds_itself_ends():
    one, other = [1], [1]
    one.append(one)
    other.append(other)
    assert of(one) == of(other)


def test_what_nothing_can_be_told_of(tmp_path):
    of(Holds(threading.Lock()))  # which says nothing
    with (
        open(tmp_path / "file", "w") as file,
        pytest.raises(InputError, match=r"argument\.value is .*, of which it cannot"),
    ):
        of(Holds(file))
    with pytest.raises(InputError, match=r"argument\.0 is generator"):
        of([(x for x in "ab")])


def test_what_is_kept_in_c_is_pickled():
    assert of(random.Random(0)) == of(random.Random(0)) != of(random.Random(1))


@pytest.mark.slow
def test_it_is_the_same_in_another_process():
    code = (
        "from handaxe.training.record.value_fingerprint import code_version, fingerprint\n"
        "from handaxe.credit.group_norm import group_norm\n"
        "from handaxe.ops.cache_path import content_digest\n"
        "from handaxe.tools.calculator import calculator\n"
        "from handaxe.envs.tool_chat import tool_chat\n"
        "made = [group_norm(), {'a', 'b', 'c'}, lambda x: x + 1, tool_chat([calculator])]\n"
        "print(code_version(), content_digest(fingerprint(made)))"
    )
    run = functools.partial(subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = run().stdout, run().stdout
    assert first == second and first.startswith(code_version())


def test_an_image_is_its_digest():
    image = noise()
    before = of(image)
    assert image.data and of(image) == before == of(Image(40, 30, image.digest, load=lambda: image)) != of(noise(1))
