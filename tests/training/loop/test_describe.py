from typing import NamedTuple

from handaxe.core.records import Sampling
from handaxe.training.loop.describe import describe


class World(NamedTuple):
    tasks: list


class Thing:
    def __call__(self):
        return 0


def test_arguments_become_facts_and_names():
    found = describe(
        {
            "steps": 30,
            "rate": 0.5,
            "out": None,
            "credit": describe,
            "reward": Thing(),
            "env": Thing,
            "sampling": Sampling(temperature=0.7),
            "annotate": ("old_logp",),
            "on_ending": {"truncated": "mask"},
            "evaluate": World(list(range(4096))),
        },
        {"name": "grpo"},
    )
    assert found["recipe"] == {"name": "grpo"}
    assert found["arguments"] == {
        "steps": 30,
        "rate": 0.5,
        "out": None,
        "credit": "handaxe.training.loop.describe.describe",
        "reward": f"{__name__}.Thing",
        "env": f"{__name__}.Thing",
        "sampling": {"temperature": 0.7, "top_p": 1.0, "top_k": 0, "max_tokens": 64},
        "annotate": ["old_logp"],
        "on_ending": {"truncated": "mask"},
        "evaluate": f"{__name__}.World",
    }
