from types import SimpleNamespace

from handaxe.methods import labelled_rollouts as module
from handaxe.methods.labelled_rollouts import labelled_rollouts


def test_the_source_plays_groups_of_the_method_with_its_reward(monkeypatch):
    monkeypatch.setattr(module, "played", lambda **chosen: chosen)
    base = SimpleNamespace(settings=SimpleNamespace(group_size=6), reward="rule")
    assert labelled_rollouts(base, groups=5) == {"groups": 5, "group_size": 6, "arguments": {"reward": "rule"}}
