import numpy as np
import pytest

from handaxe.core.records import RatedGroup
from handaxe.credit.group_norm import group_norm
from handaxe.selection.mask_empty_turns import mask_empty_turns, says_something
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.training.loop.batch import make_batch

CONTRACT = [{}, {"answer": lambda turn: turn.stop - turn.start > 2}]


def boxed(turn):
    return "\\boxed{" in turn.parsed.raw


def select(trajectories, outcome=None, **more):
    group = make_group(trajectories=trajectories)
    scores = make_scores([0.0] * len(group) if outcome is None else outcome)
    one = RatedGroup.of(group, scores, group_norm()(group, scores))
    return mask_empty_turns(**more)([one])[0]


@pytest.mark.parametrize(
    "turn, void",
    [
        ({"texts": ["let me think"]}, True),
        ({"texts": [""], "calls": [["python"]]}, False),
        ({"texts": ["print(1"], "errors": [["the call is not closed"]]}, True),
        ({"texts": ["\\boxed{3}"]}, False),
    ],
    ids=["thinks", "calls", "unclosed", "boxed"],
)
def test_a_turn_without_call_and_answer_is_empty(turn, void):
    assert select([make_trajectory(**turn)], answer=boxed).trained.tolist() == [not void]


def test_mask_empty_turns_leaves_a_masked_sibling_in_the_statistics():
    good = make_trajectory(texts=["", "\\boxed{1}"], calls=[["python"], []], replies=[["1"], []])
    bad = make_trajectory(texts=["", "hm"], calls=[["python"], []], replies=[["1"], []])
    one = select([good, bad, good, good], [1, 0, 0, 1], answer=boxed)
    assert one.trained.tolist() == [True, False, True, True]
    a = 0.8660254
    got = [own[0][one.group[0].sequences[0].mask][0] for own in one.advantages.tokens]
    np.testing.assert_allclose(got, [a, -a, -a, a], atol=5e-6)
    batch = make_batch([one], pad_id=0)
    assert batch.denominators.rollouts == 3
    assert batch.denominators.tokens == 3 * good.num_tokens


def test_one_empty_turn_masks_the_rollout():
    early = make_trajectory(texts=["hm", "\\boxed{1}"])
    assert select([early], answer=boxed).trained.tolist() == [False]


@pytest.mark.parametrize(
    "turn, answers",
    [
        ({"texts": ["4"]}, True),
        ({"texts": [" \n"]}, False),
        ({"texts": ["4"], "finish": ["length"], "ending": "truncated"}, False),
        ({"texts": ["4"], "errors": [["the call is not closed"]]}, False),
    ],
)
def test_says_something_needs_a_complete_turn_with_text(turn, answers):
    one = make_trajectory(**turn)
    assert says_something(one.turns[0]) == answers
    assert select([one]).trained.tolist() == [answers]


def test_an_answer_in_a_tool_reply_counts():
    one = make_trajectory(texts=["hm"], replies=[["\\boxed{3}"]])
    by_reply = select([one], answer=lambda turn: any("boxed" in reply.content for reply in turn.replies))
    assert by_reply.trained.tolist() == [True]


def test_rollouts_without_turns_train_and_untrained_ones_stay_untrained():
    silent = make_trajectory(layouts=["Ut"])
    assert select([silent]).trained.tolist() == [True]
    group, scores = make_group(trajectories=[make_trajectory(texts=["4"])]), make_scores([1])
    one = RatedGroup.of(group, scores, group_norm()(group, scores), trained=np.array([False]))
    assert mask_empty_turns()([one])[0].trained.tolist() == [False]


def test_keep_masks_nothing():
    void = make_trajectory(texts=["hm"])
    assert select([void], answer=boxed).trained.tolist() == [False]
    assert select([void], answer=boxed, keep=True).trained.tolist() == [True]
