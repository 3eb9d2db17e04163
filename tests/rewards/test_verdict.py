import random
import re

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.verdict import TAGS, last_verdict, verdict
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.judging.pairs import PAIR_TAGS, PAIR_TAIL, judging

EXAMPLE = {}
CONTRACT = [{}, {"tags": PAIR_TAGS, "tail": 14}]
LAB = [LabCase("verdict(...)", judging, lambda world: verdict(tags=PAIR_TAGS, tail=PAIR_TAIL))]
A, B = TAGS
SIBLINGS = make_group(
    task=make_task(answer="A"),
    trajectories=[make_trajectory(texts=[text], task=make_task(answer="A")) for text in (A, B, "[[A]]", "")],
)


def rewards(texts, gold="A", **options):
    task = make_task(answer=gold)
    group = make_group(trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    return verdict(**options)(group).outcome.tolist()


def test_the_rewards_of_the_paper():
    """The released code: 1 for the correct tag in the last 80 characters without the other tag, else -1."""
    texts = [
        A,
        "[[A]] or [[B]]",
        f"{A} or {B}",
        B,
        "",
        f"{A}{'x' * 58}",
        f"{A}{'x' * 59}",
        f"{B}{'x' * 70}{A}",
        f"{A} {A}",
    ]
    assert rewards(texts) == [1, -1, -1, -1, -1, 1, -1, 1, 1]
    assert rewards([A, B], gold="B") == [-1, 1]


def test_a_verdict_equals_a_search_by_pattern():
    rng = random.Random(0)
    for _ in range(300):
        text = "".join(rng.choices(["[[A]]", "[[B]]", "x", "[[", "A", "]]"], k=rng.randint(0, 6)))
        tail = rng.choice([5, 8, 20])
        found = set(re.findall(r"\[\[([AB])\]\]", text[-tail:]))
        assert last_verdict(text, tags=PAIR_TAGS, tail=tail) == (found.pop() if len(found) == 1 else None)


def test_labels_follow_the_order_of_the_tags():
    assert [last_verdict(f"so {one}", tags=("<1>", "<2>", "<3>"), tail=3) for one in ("<1>", "<2>", "<3>")] == [*"ABC"]


@pytest.mark.parametrize("tags, tail", [(("A",), 8), (("A", "A"), 8), (("A", "AB"), 8), (("[[A]]", "[[B]]"), 4)])
def test_ambiguous_tags_and_short_tails_are_errors(tags, tail):
    with pytest.raises(InputError, match="two tags or more"):
        verdict(tags=tags, tail=tail)
