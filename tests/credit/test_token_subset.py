from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages
from handaxe.credit.group_norm import group_norm
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.token_subset import token_subset
from handaxe.credit.total import total
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.token_masks import tool_call_tokens, turn_tokens
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = [
    {"credit": group_norm()},
    {"credit": return_to_go(), "where": turn_tokens(0)},
    {"credit": group_norm(std=None), "where": turn_tokens(-1)},
]
BIAS = [
    BiasCase(
        "token_subset(leave_one_out(), where=turn_tokens(0))",
        lambda: token_subset(leave_one_out(), where=turn_tokens(0)),
    )
]


def with_spans(trajectory, *spans):
    """A trajectory with calls at given spans of the turns."""
    turns = [replace(t, parsed=replace(t.parsed, spans=own)) for t, own in zip(trajectory.turns, spans, strict=True)]
    return replace(trajectory, turns=tuple(turns))


def called(*names):
    """A turn of four tokens, the second and third a call, then a turn of two tokens without a call."""
    made = make_trajectory(layouts=["Ut pppp tTt pp"], calls=[list(names), []])
    return with_spans(made, tuple((1 + 2 * k, 3 + 2 * k) for k in range(len(names))), ())


def test_token_subset_matches_the_docstring_example():
    group = make_group(trajectories=[called("f"), called("f")])
    scores = make_scores([1, 0], channels={"success": [1, 0], "action": [1, 2]})
    action = token_subset(group_norm(channel="action", eps=0.0))
    credit = total({"success": (1.0, group_norm(channel="success", eps=0.0)), "action": (1.0, action)})
    found = [row[0][group[i].sequences[0].mask] for i, row in enumerate(credit(group, scores).tokens)]
    a = 0.5**0.5
    np.testing.assert_allclose(found, [[a, 0, 0, a, a, a], [-a, 0, 0, -a, -a, -a]], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_token_subset_equals_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    made = [called(*["f", "g"][: rng.integers(0, 2)]) for _ in range(4)]
    two = make_trajectory(layouts=["Ut ppp", "Utt pp"], calls=[["f"], ["g"]])  # its calls in two sequences
    group = make_group(trajectories=[*made, with_spans(two, ((0, 2),), ((1, 2),))])
    scores = make_scores(rng.normal(size=5))
    whole, limited = group_norm()(group, scores), token_subset(group_norm())(group, scores)
    for i, one in enumerate(group):
        wanted = [np.zeros(len(sequence)) for sequence in one.sequences]
        for turn in one.turns:
            for first, stop in turn.parsed.spans:
                for t in range(turn.start + first, turn.start + stop):
                    wanted[turn.sequence][t] = whole.tokens[i][turn.sequence][t]
        for mine, theirs in zip(limited.tokens[i], wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert np.count_nonzero(limited.tokens[4][0]) == 2 and np.count_nonzero(limited.tokens[4][1]) == 1


def test_tokens_of_some_tools_and_turns():
    one = make_trajectory(layouts=["Ut ppppp tTt pp"], calls=[["f", "g"], []])
    one = with_spans(one, ((0, 2), (2, 4)), ())
    assert tool_call_tokens()(one).tolist() == [1, 1, 1, 1, 0, 0, 0] and tool_call_tokens("g")(one).tolist() == [
        0,
        0,
        1,
        1,
        0,
        0,
        0,
    ]
    assert not tool_call_tokens("h")(one).any()
    three = make_trajectory(layouts=["Ut pp t p", "Ut ppp"])
    assert turn_tokens(0)(three).tolist() == [1, 1, 0, 0, 0, 0] and turn_tokens(-1)(three).tolist() == [
        0,
        0,
        0,
        1,
        1,
        1,
    ]
    assert not turn_tokens(3)(three).any() and not turn_tokens(-4)(three).any()
    assert tool_call_tokens()(make_trajectory(layouts=["Ut"])).shape == (0,)


def test_returns_trains_and_state_are_unchanged():
    class Kept:
        def __call__(self, group, scores):
            arrays = tuple(tuple(s.mask * 1.0 for s in one.sequences) for one in group)
            return Advantages(arrays, arrays, tuple(tuple(s.mask for s in one.sequences) for one in group))

        def state_dict(self):
            return {"seen": 1}

        def load_state_dict(self, state):
            self.loaded = state

    kept, group = Kept(), make_group(trajectories=[called("f")])
    credit = token_subset(kept)
    found = credit(group, make_scores([1]))
    mask = group[0].sequences[0].mask
    np.testing.assert_array_equal(found.returns[0][0], mask)
    np.testing.assert_array_equal(found.trains[0][0], mask)
    assert isinstance(credit, Stateful)
    credit.load_state_dict(credit.state_dict())
    assert kept.loaded == {"seen": 1}


def test_a_chat_format_without_call_positions_is_an_error():
    group = make_group(trajectories=[make_trajectory(layouts=["Ut pp"], calls=[["f"]])])
    with pytest.raises(InputError, match=r"lacks the token positions of its calls"):
        token_subset(group_norm())(group, make_scores([1]))
