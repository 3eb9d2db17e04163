import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [
    {"parts": {"whole": (1.0, group_norm()), "kept": (lambda step: 0.5, constant_baseline())}},
    {"parts": {"critic": (0.5, gae()), "whole": (1.0, group_norm())}},
]
BIAS = [
    BiasCase(
        "total(...) as in MatchTIR",
        lambda: total(
            {
                "attempt": (0.5, group_norm()),
                "turn": (0.5, turn_norm(norm="index", gamma=0.9, order="sum_first", lone="reward")),
            }
        ),
    )
]


def on_last(group, scores):
    """A credit of 1 that trains the last policy token of each sibling alone."""
    trains = []
    for one in group:
        masks = [np.zeros(len(sequence), bool) for sequence in one.sequences]
        masks[-1][np.flatnonzero(one.sequences[-1].mask)[-1:]] = True
        trains.append(tuple(masks))
    tokens = tuple(tuple(sequence.mask.astype(float) for sequence in one.sequences) for one in group)
    return Advantages(tokens, trains=tuple(trains))


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, group, scores):
        self.calls += 1
        return group_norm()(group, scores)

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


def firsts(said, group):
    return [row[0][one.sequences[0].mask][0] for row, one in zip(said.tokens, group)]


@pytest.mark.parametrize("weight, wanted", [(0.5, [0, 0]), (0.25, [0.25, -0.25])])
def test_total_matches_the_docstring_example(weight, wanted):
    credit = total({"whole": (1, group_norm(std=None)), "speed": (weight, group_norm(std=None, channel="speed"))})
    group = make_group(size=2)
    assert firsts(credit(group, make_scores([1, 0], channels={"speed": [1, 3]})), group) == wanted


@pytest.mark.parametrize("seed", range(6))
def test_total_equals_a_slow_loop(seed):
    group = random_group(seed, features=("value",))
    scores = random_scores(group, seed)
    parts = {"a": (0.3, group_norm()), "b": (-2.0, gae()), "c": (1.5, group_norm(std=None))}
    said = total(parts)(group, scores)
    alone = {name: credit(group, scores) for name, (_, credit) in parts.items()}
    for i, one in enumerate(group):
        for s, sequence in enumerate(one.sequences):
            for t in range(len(sequence)):
                wanted = sum(weight * alone[name].tokens[i][s][t] for name, (weight, _) in parts.items())
                assert said.tokens[i][s][t] == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_equal(said.returns, alone["b"].returns)


def test_a_weight_is_evaluated_at_the_step():
    credit = total({"whole": (lambda step: 0.5 * step, group_norm(std=None))})
    for step, wanted in ((0, 0), (1, 0.25), (4, 1)):
        group = make_group(size=2, step=step)
        assert firsts(credit(group, make_scores([1, 0])), group) == [wanted, -wanted]


def test_a_part_adds_nothing_at_untrained_tokens():
    group, scores = make_group(layouts=["Utpp", "Utp"]), make_scores([1, 0])
    said = total({"last": (3.0, on_last)})(group, scores)
    assert [row[0].tolist() for row in said.tokens] == [[0, 0, 0, 3], [0, 0, 3]]
    assert [row[0].tolist() for row in said.trains] == [[False, False, False, True], [False, False, True]]
    said = total({"last": (3.0, on_last), "whole": (1.0, group_norm(std=None))})(group, scores)
    assert said.trains is None
    assert [row[0].tolist() for row in said.tokens] == [[0, 0, 0.5, 3.5], [0, 0, 2.5]]


def test_state_holds_that_of_parts_by_name():
    first = total({"whole": (1.0, group_norm()), "counted": (0.1, Counter())})
    assert isinstance(first, Stateful)
    for _ in range(2):
        first(make_group(size=2), make_scores([1, 0]))
    assert first.state_dict() == {"counted": {"calls": 2}}
    counter = Counter()
    second = total({"counted": (0.1, counter), "whole": (1.0, group_norm())})
    second.load_state_dict(first.state_dict())
    assert counter.calls == 2


def test_invalid_parts_are_errors():
    with pytest.raises(InputError, match="at least one"):
        total({})
    with pytest.raises(InputError, match="'whole' is nan"):
        total({"whole": (float("nan"), group_norm())})
    with pytest.raises(InputError, match="'whole' is inf"):
        total({"whole": (lambda step: float("inf"), group_norm())})(make_group(size=2), make_scores([1, 0]))
    group = random_group(0, features=("value",))
    with pytest.raises(InputError, match="'a' and 'b' both have value targets"):
        total({"a": (1.0, gae()), "b": (1.0, gae())})(group, random_scores(group, 0))
