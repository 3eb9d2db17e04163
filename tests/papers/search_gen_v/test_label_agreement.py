from functools import partial

import numpy as np
import pytest
from sklearn.metrics import f1_score

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.search_gen_v.label_agreement import label_agreement, macro_f1, stated_labels
from handaxe.papers.search_gen_v.labels import LABELS
from handaxe.papers.search_gen_v.nuggets import SHORT_LABELS, nuggets
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [LabCase("label_agreement(...)", partial(nuggets), lambda world: label_agreement(labels=SHORT_LABELS))]
S, P, N = LABELS
GOLD = make_task(answer=[S, N], metadata={"format": "csv"})
SIBLINGS = make_group(
    task=GOLD, trajectories=[make_trajectory(texts=[text], task=GOLD) for text in (f"{S},{N}", f"{S}|{N}", S, "")]
)


def rewards(texts, gold=(S, S, N), format="csv"):
    task = make_task(answer=list(gold), metadata={"format": format})
    group = make_group(trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    return label_agreement()(group)


def test_the_worked_example():
    """F1 is 2/3, 1 (no partial support on either side) and 2/3."""
    found = rewards([f"<reasoning>a</reasoning>{S},{N},{N}", f"<reasoning>a</reasoning>{S},{S}"])
    assert found.outcome.tolist() == pytest.approx([0.35 * 7 / 9 + 0.3, 0.0])
    assert {name: values.tolist() for name, values in found.channels.items()} == {
        "f1": pytest.approx([7 / 9, 0]), "exact": [0, 0], "reasoning": [1, 0], "format": [1, 0],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, reward",
    [
        (f"<reasoning>a</reasoning>{S},{S},{N}", 1.0),
        (f"<reasoning></reasoning>{S},{S},{N}", 0.9),
        (f"{S},{S},{N}", 0.8),
        (f"<reasoning>a {S},{S},{N}", 0.7),
        (f"<reasoning>a</reasoning>{S}|{S}|{N}", 0.9),
        (f"<reasoning>a</reasoning><reasoning>b</reasoning>{S},{S},{N}", 0.0),
        (f"<reasoning>a</reasoning>{N},{N},{S}", 0.35 / 3 + 0.3),
        (f"<reasoning>a</reasoning>{S},{S},{N},{N}", 0.0),
        ("<reasoning>a</reasoning>", 0.0),
        ("", 0.0),
    ],
)
def test_parts_by_hand(text, reward):
    assert rewards([text]).outcome[0] == pytest.approx(reward)


def test_an_f1_of_zero_earns_nothing_at_all():
    """All three labels occur, and none at the right nugget."""
    found = rewards([f"<reasoning>a</reasoning>{P},{N},{S}"], gold=(S, P, N))
    assert found.outcome.tolist() == [0] and not any(values.any() for values in found.channels.values())


@pytest.mark.parametrize("seed", range(30))
def test_macro_f1_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    found, gold = (rng.choice(LABELS, 5).tolist() for _ in range(2))
    assert macro_f1(found, gold) == pytest.approx(
        f1_score(gold, found, labels=list(LABELS), average="macro", zero_division=1.0), abs=1e-12
    )


def test_labels_within_the_reasoning_are_not_read():
    assert stated_labels(f"<reasoning>{S}?</reasoning>{N}") == [N]


@pytest.mark.parametrize("answer, format", [("S", "csv"), ([], "csv"), (["yes"], "csv"), ([S], "words")])
def test_unsuitable_tasks_are_errors(answer, format):
    task = make_task(answer=answer, metadata={"format": format})
    with pytest.raises(TaskError, match="needs"):
        label_agreement()(make_group(trajectories=[make_trajectory(texts=["S"], task=task)]))
