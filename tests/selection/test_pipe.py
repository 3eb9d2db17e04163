from handaxe.core.protocols import Stateful
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.mask_empty_turns import mask_empty_turns
from handaxe.selection.parts.dispositions import live
from handaxe.selection.pipe import pipe
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


class Limit:
    """Keeps a number of groups that grows by one a step."""

    def __init__(self):
        self.keep = 0

    def __call__(self, rated):
        self.keep += 1
        return list(rated)[: self.keep]

    def state_dict(self):
        return {"keep": self.keep}

    def load_state_dict(self, state):
        self.keep = state["keep"]


def test_pipe_masks_rollouts_then_drops_groups():
    said = [make_trajectory(texts=["4"]), make_trajectory(texts=[""])]
    batch = [make_rated(group=make_group(trajectories=said), outcome=o) for o in ([1, 0], [1, 1])]
    (kept,) = live(pipe(mask_empty_turns(), drop_equal_groups())(batch))
    assert kept.group is batch[0].group and kept.trained.tolist() == [True, False]


def test_selectors_apply_in_order():
    batch = [make_rated(outcome=o) for o in ([1, 1], [1, 0], [0, 1])]
    assert len(live(pipe(drop_equal_groups(), Limit())(batch))) == 1
    assert len(live(pipe(Limit(), drop_equal_groups())(batch))) == 0
    assert pipe()(batch) == batch


def test_state_of_stateful_selectors_is_restored():
    batch = [make_rated(outcome=o) for o in ([1, 1], [1, 0], [0, 1])]
    first = pipe(drop_equal_groups(), Limit())
    assert isinstance(first, Stateful)
    first(batch)
    assert first.state_dict() == {"1": {"keep": 1}}
    second = pipe(drop_equal_groups(), Limit())
    second.load_state_dict(first.state_dict())
    assert len(live(second(batch))) == 2
