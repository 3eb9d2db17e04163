from dataclasses import replace

import numpy as np
import pytest
from helpers.embed_words import embed_words

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores, ToolCall
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.papers.evolver.principle_learner import principle_learner
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.papers.evolver.principled_hops import LESSON
from handaxe.testing.make_records import make_task, make_trajectory


def rollout(*relations, code="K", used=(), id="a", lesson=False):
    """A rollout that was shown principles and searched by relations."""
    task = make_task(question=f"4071 {code}?")
    task = replace(task, metadata={"code": code, **({LESSON: []} if lesson else {})})
    calls = [[ToolCall("search", {"query": f"4071 {name}"}, id=f"{n}-0")] for n, name in enumerate(relations)]
    made = make_trajectory(
        texts=[*[""] * len(calls), "7"], calls=[*calls, []], replies=[*[["r"]] * len(calls), []], id=id
    )
    return replace(made, task=task, env={"state": {"PrincipleSearch": {"used": list(used)}}})


def learn(judge, *rollouts, outcome, step=0):
    group = Group(rollouts[0].task, tuple(rollouts))
    return judge.learn(with_zero_credit([(group, Scores(np.array(outcome, np.float64)))]), step=step)


def made(**options):
    return principle_learner(store=PrincipleStore(embed_words), **options)


def stored(judge):
    return {one.text: (one.usage, one.success) for one in judge.store.principles}


def test_a_rollout_leaves_its_principle():
    judge = made()
    told = learn(judge, rollout("boss", "ally"), outcome=[1.0])
    assert stored(judge) == {"+ K: boss ally": (0, 0)}
    assert told == {"stored": 1.0, "score": 0.5, "used": 0.0, "used_score": 0.5, "pruned": 0.0}


def test_uses_count_before_new_principles_by_hand():
    """Two rollouts saw the principle, one is correct; both repeat its chain, and the correct one is merged with it."""
    judge = made()
    learn(judge, rollout("boss"), outcome=[1.0])
    seen = ["+ K: boss"]
    told = learn(judge, rollout("boss", used=seen), rollout("boss", used=seen, id="b"), outcome=[1.0, 0.0])
    assert stored(judge) == {"+ K: boss": (3, 2), "- K: boss": (0, 0)}
    assert told["used"] == 1.0 and told["used_score"] == 0.5
    assert told["score"] == pytest.approx((3 / 5 + 1 / 2) / 2)


def test_principles_that_do_not_help_are_deleted_every_so_many_steps():
    judge = made(every=2)
    learn(judge, rollout("boss"), outcome=[1.0])
    seen = ["+ K: boss"]
    wrong = [rollout("idol", used=seen, id=str(n)) for n in range(3)]
    assert learn(judge, *wrong, outcome=[0.0] * 3, step=0)["pruned"] == 0.0
    assert stored(judge)["+ K: boss"] == (3, 0)
    assert stored(judge)["- K: idol"] == (2, 0), "two of three equal principles are merged with the first"
    assert learn(judge, rollout("ally", code="Z"), outcome=[1.0], step=1)["pruned"] == 2.0
    assert list(stored(judge)) == ["+ Z: ally"]


def test_lessons_unscored_rollouts_and_rollouts_without_searches_leave_nothing():
    judge = made()
    one = [rollout("boss", lesson=True), rollout("boss", id="b"), rollout(id="c")]
    told = learn(judge, *one, outcome=[1.0, np.nan, 1.0])
    assert stored(judge) == {} and told["stored"] == 0.0
    assert learn(made(distils=False), rollout("boss"), outcome=[1.0])["stored"] == 0.0


def test_the_channel_decides_what_is_correct():
    judge = made(channel="correct")
    one = rollout("boss")
    scores = Scores(np.array([9.0]), channels={"correct": np.array([0.0])})
    judge.learn(with_zero_credit([(Group(one.task, (one,)), scores)]), step=0)
    assert list(stored(judge)) == ["- K: boss"]


def test_a_restored_learner_goes_on_alike():
    judge, other = made(), made()
    learn(judge, rollout("boss"), rollout("ally", code="Z", id="b"), outcome=[1.0, 0.0])
    learn(judge, rollout("boss", used=["+ K: boss"]), outcome=[1.0])
    other.load_state_dict(judge.state_dict())
    assert stored(other) == stored(judge) and other.state_dict() == judge.state_dict()
    for each in (judge, other):
        learn(each, rollout("idol", code="Z", used=["- Z: ally"]), outcome=[1.0], step=9)
    assert stored(other) == stored(judge)
    assert [one.text for one in other.store.retrieve("K:", k=1)] == [
        one.text for one in judge.store.retrieve("K:", k=1)
    ]


def test_no_step_between_deletions_is_refused():
    with pytest.raises(InputError, match="every is 0"):
        made(every=0)
