import numpy as np

from handaxe.core import records
from handaxe.core.records import Message, Scores, ToolCall
from handaxe.papers.tool_star.hinted_env import HINT
from handaxe.papers.tool_star.hinted_play import hinted_play, without_hint
from handaxe.rollouts.linear import linear
from handaxe.selection.keep_successes import keep_successes
from handaxe.testing.make_records import make_trajectory
from handaxe.training.stages.teach import teach


def needs_a_hint(request):
    """Every other attempt answers at once, and calls when it is told to."""
    if request.seed % 2 and request.turn == 0:
        return ToolCall("add", {"numbers": "1 2"})
    return ["9", ToolCall("add", {"numbers": "1 2"}), "3"][request.turn]


def called(group):
    return Scores(
        np.array([float(len(one.calls) == 1) for one in group]),
        turns=tuple(np.full(len(one.turns), 0.25) for one in group),
        channels={"called": np.array([float(bool(one.calls)) for one in group])},
    )


def played(world, **options):
    here = world.site(engine=world.Talking(needs_a_hint), reward=called)
    arguments = {**world.PLAY, "rollout": linear(max_turns=3)}
    return hinted_play(groups=2, group_size=8, arguments=arguments, **options)(here), here


def test_hinted_rollouts_are_stored_without_the_hint(world):
    groups, _ = played(world)
    found = [one for rated in groups for one in rated.group]
    again = [one for one in found if one.id.endswith("/unhinted")]
    assert 2 < len(again) < len(found) == 16
    for one in found:
        records.check(one)
        assert all(message.name != HINT for message in one.messages)
    for one in again:
        assert [turn.parsed.text for turn in one.turns] == ["", "3"] and len(one.calls) == 1
        assert [message.role for message in one.messages] == ["user", "assistant", "tool", "assistant"]
        said = world.FORMAT.decode(one.sequences[0].ids)
        assert "Use a tool" not in said and "9" not in said.partition("USER")[2].replace(one.task.id, "")
    for rated in groups:
        assert rated.scores.turns is None and set(rated.scores.channels) == {"called"}
        assert all(outcome >= 1 for outcome, one in zip(rated.scores.outcome, rated.group) if one in again)


def test_a_policy_can_be_fine_tuned_on_hinted_play(world):
    groups, here = played(world)
    metrics = teach(source=lambda site: groups, select=keep_successes(channel="called"), batch_size=4)(here)
    assert metrics and here.engine.version == len(metrics)


def test_the_hint_is_an_argument(world):
    here = world.site(engine=world.Talking(needs_a_hint), reward=called)
    seen = []

    def hint(task):
        seen.append(task.id)
        return "again"

    arguments = {**world.PLAY, "rollout": linear(max_turns=3)}
    hinted_play(groups=1, group_size=2, arguments=arguments, hint=hint)(here)
    assert len(seen) == 2


def test_a_malformed_turn_after_the_hint_masks_the_rollout(world):
    one = make_trajectory(texts=["9", "", "3"], errors=[[], ["not JSON"], []])
    messages = (Message("user", "1?"), Message("assistant", "9"), Message("user", "again", name=HINT))
    hinted = records.Trajectory(**{**vars(one), "messages": (*messages, Message("assistant", "3"))})
    assert without_hint(hinted, world.site()) is None
    cut = records.Trajectory(**{**vars(make_trajectory(texts=["9"])), "messages": messages})
    assert without_hint(cut, world.site()) is None


def test_the_second_play_uses_the_world_rollout_and_must_complete(world):
    turns = []

    def plays(most):
        turns.append(most)
        return linear(max_turns=most)

    groups, _ = played(world, plays=plays)
    assert turns and set(turns) == {2}
    groups, _ = played(world, plays=lambda most: linear(max_turns=1))  # too few: each is cut
    assert not [one for rated in groups for one in rated.group if one.id.endswith("/unhinted")]
    assert any(not trained for rated in groups for trained in rated.trained)
