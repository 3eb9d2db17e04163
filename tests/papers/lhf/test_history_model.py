import torch

from handaxe.papers.lhf.dark_room import DarkRoom
from handaxe.papers.lhf.history_model import HistoryModel

ROOM = DarkRoom(size=3, horizon=4)


def steps(seed=0):
    torch.manual_seed(seed)
    return torch.randint(9, (2, 8)), torch.randint(5, (2, 8)), torch.randint(2, (2, 8)).double()


def test_logits_do_not_depend_on_the_present_action_or_on_later_steps():
    torch.manual_seed(1)
    model = HistoryModel(ROOM, width=16)
    cell, action, reward = steps()
    before = model(cell, action, reward)
    assert before.shape == (2, 8, 5)
    action[:, 5] = (action[:, 5] + 1) % 5
    reward[:, 5] = 1 - reward[:, 5]
    cell[:, 6] = (cell[:, 6] + 1) % 9
    after = model(cell, action, reward)
    torch.testing.assert_close(after[:, :6], before[:, :6])
    assert (after[:, 6:] - before[:, 6:]).abs().max() > 1e-4


def test_rewards_change_the_logits_of_later_steps():
    torch.manual_seed(1)
    model = HistoryModel(ROOM, width=16)
    cell, action, reward = steps()
    before = model(cell, action, reward)
    reward[:, 1] = 1 - reward[:, 1]
    after = model(cell, action, reward)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert (after[:, 7] - before[:, 7]).abs().max() > 1e-5


def test_a_prefix_has_the_logits_of_the_whole():
    torch.manual_seed(1)
    model = HistoryModel(ROOM, width=16)
    cell, action, reward = steps()
    whole = model(cell, action, reward)
    torch.testing.assert_close(model(cell[:, :3], action[:, :3], reward[:, :3]), whole[:, :3], atol=1e-5, rtol=1e-5)
