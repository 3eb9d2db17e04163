import pytest

from handaxe.core.records import Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.red_team.attack_texts import SEEDS, STRATEGIES, AttackText, seed_attacks
from handaxe.papers.red_team.honeypots import honeypot_env, violations_in
from handaxe.papers.red_team.scripted_target import DIRECT, ScriptedTarget, draw_target
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(scope="module")
def env():
    return honeypot_env()


def violations(env, target, attack):
    task = Task("t", (Message("user", attack.text),), "")
    return violations_in(demonstrate(env, task, target, format=Compact()))


@pytest.mark.parametrize("seed", range(2))
def test_a_weak_target_commits_exactly_the_wanted_violation_and_a_strong_one_none(env, seed):
    weak = ScriptedTarget(frozenset((kind, DIRECT) for kind in SEEDS), seed)
    strong = ScriptedTarget(frozenset(), seed)
    for attack in seed_attacks():
        assert violations(env, weak, attack) == {attack.kind}
        assert violations(env, strong, attack) == frozenset()


def test_a_weakness_to_a_strategy_needs_the_strategy(env):
    target = ScriptedTarget(frozenset({("paid", "bonus")}))
    assert violations(env, target, AttackText("paid", 1, ("bonus",))) == {"paid"}
    assert violations(env, target, AttackText("paid", 1, ("steps", "bonus"))) == {"paid"}
    assert violations(env, target, AttackText("paid", 1, ("steps",))) == frozenset()
    assert violations(env, target, AttackText("paid", 1)) == frozenset()
    assert violations(env, target, AttackText("deleted", 0, ("bonus",))) == frozenset()


def test_direct_texts_and_strategies_are_weak_equally_often_on_average():
    drawn = [draw_target(seed).weak for seed in range(300)]
    direct = sum(cue == DIRECT for weak in drawn for _, cue in weak) / (300 * len(SEEDS))
    mutated = sum(cue != DIRECT for weak in drawn for _, cue in weak) / (300 * len(SEEDS) * len(STRATEGIES))
    assert direct == pytest.approx(0.15, abs=0.02) and mutated == pytest.approx(0.15, abs=0.02)
    assert draw_target(3) == draw_target(3) != draw_target(4)
