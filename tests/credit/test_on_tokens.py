from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages
from handaxe.credit.group_norm import group_norm
from handaxe.credit.on_tokens import on_tokens
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.total import total
from handaxe.ops.places import in_calls, in_turn
from handaxe.testing.records import make_group, make_scores, make_trajectory

CONTRACT = [
    {"credit": group_norm()},
    {"credit": return_to_go(), "where": in_turn(0)},
    {"credit": group_norm(std=None), "where": in_turn(-1)},
]


def with_spans(trajectory, *spans):
    """The trajectory, whose turns have their calls at these places."""
    turns = [replace(t, parsed=replace(t.parsed, spans=own)) for t, own in zip(trajectory.turns, spans, strict=True)]
    return replace(trajectory, turns=tuple(turns))


def called(*names):
    """One turn of four tokens, whose second and third are a call; then one of two without."""
    made = make_trajectory(layouts=["Ut pppp tTt pp"], calls=[list(names), []])
    return with_spans(made, tuple((1 + 2 * k, 3 + 2 * k) for k in range(len(names))), ())


def test_example():
    group = make_group(trajectories=[called("f"), called("f")])
    scores = make_scores([1, 0], channels={"success": [1, 0], "action": [1, 2]})
    action = on_tokens(group_norm(channel="action", eps=0.0))
    credit = total({"success": (1.0, group_norm(channel="success", eps=0.0)), "action": (1.0, action)})
    found = [row[0][group[i].sequences[0].mask] for i, row in enumerate(credit(group, scores).tokens)]
    a = 0.5**0.5
    np.testing.assert_allclose(found, [[a, 0, 0, a, a, a], [-a, 0, 0, -a, -a, -a]], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_against_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    made = [called(*["f", "g"][: rng.integers(0, 2)]) for _ in range(4)]
    two = make_trajectory(layouts=["Ut ppp", "Utt pp"], calls=[["f"], ["g"]])  # its calls in two sequences
    group = make_group(trajectories=[*made, with_spans(two, ((0, 2),), ((1, 2),))])
    scores = make_scores(rng.normal(size=5))
    whole, limited = group_norm()(group, scores), on_tokens(group_norm())(group, scores)
    for i, one in enumerate(group):
        wanted = [np.zeros(len(sequence)) for sequence in one.sequences]
        for turn in one.turns:
            for first, stop in turn.parsed.spans:
                for t in range(turn.start + first, turn.start + stop):
                    wanted[turn.sequence][t] = whole.tokens[i][turn.sequence][t]
        for mine, theirs in zip(limited.tokens[i], wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert np.count_nonzero(limited.tokens[4][0]) == 2 and np.count_nonzero(limited.tokens[4][1]) == 1


def test_calls_of_some_tools_and_turns():
    one = make_trajectory(layouts=["Ut ppppp tTt pp"], calls=[["f", "g"], []])
    one = with_spans(one, ((0, 2), (2, 4)), ())
    assert in_calls()(one).tolist() == [1, 1, 1, 1, 0, 0, 0] and in_calls("g")(one).tolist() == [0, 0, 1, 1, 0, 0, 0]
    assert not in_calls("h")(one).any()
    three = make_trajectory(layouts=["Ut pp t p", "Ut ppp"])
    assert in_turn(0)(three).tolist() == [1, 1, 0, 0, 0, 0] and in_turn(-1)(three).tolist() == [0, 0, 0, 1, 1, 1]
    assert not in_turn(3)(three).any() and not in_turn(-4)(three).any()
    assert in_calls()(make_trajectory(layouts=["Ut"])).shape == (0,)


def test_returns_trains_and_state_are_those_of_the_credit():
    class Kept:
        def __call__(self, group, scores):
            arrays = tuple(tuple(s.mask * 1.0 for s in one.sequences) for one in group)
            return Advantages(arrays, arrays, tuple(tuple(s.mask for s in one.sequences) for one in group))

        def state_dict(self):
            return {"seen": 1}

        def load_state_dict(self, state):
            self.loaded = state

    kept, group = Kept(), make_group(trajectories=[called("f")])
    credit = on_tokens(kept)
    found = credit(group, make_scores([1]))
    mask = group[0].sequences[0].mask
    np.testing.assert_array_equal(found.returns[0][0], mask)
    np.testing.assert_array_equal(found.trains[0][0], mask)
    assert isinstance(credit, Stateful)
    credit.load_state_dict(credit.state_dict())
    assert kept.loaded == {"seen": 1}


def test_a_format_that_does_not_tell_where_calls_stand():
    group = make_group(trajectories=[make_trajectory(layouts=["Ut pp"], calls=[["f"]])])
    with pytest.raises(InputError, match=r"does not say where in its tokens the calls stand"):
        on_tokens(group_norm())(group, make_scores([1]))
