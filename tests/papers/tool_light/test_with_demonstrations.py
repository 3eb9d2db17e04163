from types import SimpleNamespace

import numpy as np

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_light.few_call_pairs import few_call_pairs
from handaxe.papers.tool_light.stepwise_sums import stepwise_sums
from handaxe.papers.tool_light.with_demonstrations import with_demonstrations
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.training.stages.context import make_site


def test_a_question_without_a_correct_chain_gets_the_demonstration():
    world = stepwise_sums()
    task = next(one for one in world.tasks("train", 20, 0) if one.metadata["steps"] == "1")
    long = make_trajectory(layouts=[f"Ut {'p' * 80}"], texts=["7"])
    groups = [
        make_rated(group=make_group(trajectories=[long, long], task=task), outcome=own) for own in ([0, 0], [0, 1])
    ]
    site = make_site(
        engine=SimpleNamespace(max_length=512), format=Compact(), env=world.env(world.tools), reward=world.correct
    )
    source = with_demonstrations(lambda site: groups, expert=world.expert, rollout=linear(max_turns=4))
    added, same = source(site)
    assert same is groups[1] and added.scores.outcome.tolist() == [0, 0, 1]
    shown = added.group[2]
    assert shown.final_text == task.answer and added.trained.all() and shown.id == f"{task.id}/0/0/demonstration"
    assert np.array_equal(added.advantages.tokens[2][0] > 0, shown.sequences[0].mask)
    (pair, _) = few_call_pairs()([added, added])
    assert pair.chosen is shown and pair.rejected is added.group[0]
