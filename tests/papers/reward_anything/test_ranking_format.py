import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reward_anything.principles import principles
from handaxe.papers.reward_anything.ranking_format import form_score, ranking_format
from handaxe.testing.make_records import make_group, make_task, make_trajectory

BODY = '{"scores":{"a":1,"b":4},"best-to-worst":["b","a"]}'
TURNED = '{"scores":{"a":1,"b":4},"best-to-worst":["a","b"]}'
GOLD = make_task(answer={"a": 1, "b": 4})
SIBLINGS = make_group(
    task=GOLD, trajectories=[make_trajectory(texts=[text], task=GOLD) for text in (BODY, TURNED, "<think>", "")]
)
LAB = [
    LabCase("ranking_format()", principles, lambda world: ranking_format(), why="the form says nothing about the order")
]


@pytest.mark.parametrize(
    "text, score",
    [
        (f"<think>b</think>{BODY}", 0.95),
        (f"<think>{'x' * 51}</think>{BODY}", 1.0),
        (f"<think>{'x' * 50}</think>{BODY}", 0.95),
        (BODY, 0.8),
        (f"<think>{BODY}", 0.05 + 0.15 + 0.1 + 0.2 + 0.1 + 0.2),
        (f"so {BODY}", 0.75),
        (f"<think>b</think>{TURNED}", 0.75),
        ('{"scores":{"a":1}}', 0.2 + 0.1 + 0.1),
        ('{"scores":{"a":1,"z":4}}', 0.2 + 0.1 + 0.1),
        ('{"best-to-worst":["b","a"]}', 0.3),
        ('{"scores":{"a":2,"b":2},"best-to-worst":["b","a","b"]}', 0.8),
        ("{}", 0.0),
        ("</think>", 0.05),
        ("", 0.0),
    ],
)
def test_parts_by_hand(text, score):
    assert form_score(text, ["a", "b"]) == pytest.approx(score)


def test_the_reward_takes_the_names_of_the_reference():
    task = make_task(answer={"a": 5, "b": 3, "c": 1, "d": 2})
    group = make_group(trajectories=[make_trajectory(texts=[BODY], task=task)])
    assert ranking_format()(group).outcome.tolist() == pytest.approx([0.7])


def test_consistency_is_a_share_of_pairs():
    scores = '{"scores":{"a":3,"b":2,"c":1},"best-to-worst":'
    shares = {'["a","b","c"]': 1, '["a","c","b"]': 2 / 3, '["b","c","a"]': 1 / 3, '["c","b","a"]': 0, '["a"]': 0}
    for ranking, share in shares.items():
        assert form_score(f"{scores}{ranking}}}", "abc") == pytest.approx(0.6 + 0.2 * share)
