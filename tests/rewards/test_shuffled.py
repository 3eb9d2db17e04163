from handaxe import rewards
from handaxe.ops.seeds import generator
from handaxe.testing.records import make_group, make_trajectory
from handaxe.testing.rewards import check_reward

GROUP = make_group(trajectories=[make_trajectory(texts=[text]) for text in "abcdefgh"])
LETTER = rewards.weighted({"letter": (1.0, rewards.outcome(lambda one: sum(map(ord, one.final_text))))})


def test_the_same_outcomes_for_others():
    scores, dealt = LETTER(GROUP), rewards.shuffled(LETTER, seed=1)(GROUP)
    assert sorted(dealt.outcome) == sorted(scores.outcome) and list(dealt.outcome) != list(scores.outcome)
    assert list(dealt.channels["letter"]) == list(dealt.outcome)
    assert list(rewards.shuffled(LETTER, seed=2)(GROUP).outcome) != list(dealt.outcome)


def test_a_slow_loop_deals_them_alike():
    order = generator("shuffled", 3, GROUP.step, GROUP.task.id).permutation(8)
    ids = sorted(one.id for one in GROUP)
    by_id = {one.id: value for one, value in zip(GROUP, LETTER(GROUP).outcome)}
    want = {ids[k]: by_id[ids[order[k]]] for k in range(8)}
    dealt = rewards.shuffled(LETTER, seed=3)(GROUP)
    assert {one.id: value for one, value in zip(GROUP, dealt.outcome)} == want


def test_contract():
    check_reward(rewards.shuffled(LETTER), GROUP)


def test_turns_are_added_in_first():
    turned = rewards.per_turn(lambda one: [2.0] * len(one.turns))
    dealt = rewards.shuffled(turned)(GROUP)
    assert dealt.turns is None and list(dealt.outcome) == [2.0] * 8
