from handaxe.papers.reward_dance.backbones import BACKBONES
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.canvas.canvas import canvas


def test_the_packaged_policy_needs_no_training():
    assert BACKBONES["tiny_vision"](canvas()) is None
    assert BACKBONES["start"] is start_policy
