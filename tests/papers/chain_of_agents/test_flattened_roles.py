from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Group, Scores
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.chain_of_agents.flattened_roles import flatten_roles, flattened_roles
from handaxe.papers.chain_of_agents.role_hops import is_sent_back, role_hops
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.context import make_site
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


@pytest.fixture
def rollouts():
    """Two rollouts of the system, without and with a correction, of one task."""

    def played(errors):
        world = role_hops(lengths=(2,), errors=errors, size=40)
        task = world.tasks("train", 1, 0)[0]
        rollout = world.make_rollout(8)
        id = f"t/{errors}"
        return demonstrate(world.env(world.tools), task, world.expert, format=Compact(), rollout=rollout, id=id)

    return played(0.0), played(1.0)


def test_roles_become_tagged_segments_of_one_conversation(rollouts):
    plain, corrected = rollouts
    name, first, last = plain.task.messages[-1].content.split()[0], *plain.task.metadata["path"]
    middle, answer = plain.task.metadata["gold_answers"]
    flat = flatten_roles(plain, Compact())
    shown = Compact().decode(flat.sequences[0].ids)
    assert len(flat.sequences) == 1 and flat.task is plain.task
    assert shown.startswith(f"<SYSTEM>search(query,k)<END><USER>{name} {first} {last}?<END><ASSISTANT>")
    assert [turn.parsed.text for turn in flat.turns] == [
        f"<planner>{name} {first}</planner>",
        f"<checker>{middle} {last}</checker><planner>{middle} {last}</planner>",
        f"<answer>{answer}</answer>",
    ]
    assert [len(turn.calls) for turn in (t.parsed for t in flat.turns)] == [1, 1, 0]
    assert len(flatten_roles(corrected, Compact()).turns) == 5


def test_replies_of_tools_and_prompts_of_roles_do_not_train(rollouts):
    flat = flatten_roles(rollouts[0], Compact())
    (sequence,) = flat.sequences
    written = "".join(Compact().decode(sequence.ids[turn.start : turn.stop]) for turn in flat.turns)
    assert (sequence.mask == (sequence.author == Author.POLICY)).all()
    assert int(sequence.mask.sum()) == sum(turn.stop - turn.start for turn in flat.turns)
    assert "checker:" not in Compact().decode(sequence.ids) and "[" not in written


def test_fewer_tokens_are_read_than_by_the_system(rollouts):
    for one in rollouts:
        flat = flatten_roles(one, Compact())
        assert len(flat.sequences[0]) < 0.7 * sum(len(sequence) for sequence in one.sequences)


def lessons(world, trajectories, outcomes, **options):
    group = Group(trajectories[0].task, tuple(trajectories))
    rated = replace(as_rated(list(trajectories)))
    rated = rated.with_group(group, Scores(np.array(outcomes, float)))
    engine = world.make_engine()
    engine.max_length = options.pop("context", 4000)
    source = flattened_roles(source=lambda site: [rated], reflective=is_sent_back, **options)
    return [one.group[0].id for one in source(make_site(engine=engine, format=Compact()))]


def test_filters_keep_correct_long_and_reflective_rollouts(rollouts, world):
    plain, corrected = rollouts
    both = [f"{corrected.id}/flat", f"{plain.id}/flat"]
    assert lessons(world, rollouts, [1, 1]) == both
    assert lessons(world, rollouts, [1, 0]) == both[1:]
    assert lessons(world, rollouts, [1, 1], least_turns=7) == both[:1]
    assert lessons(world, rollouts, [1, 1], plain=0.0) == both[:1]
    assert lessons(world, rollouts, [1, 1], context=300) == both[1:]
    with pytest.raises(InputError, match="plain is 2"):
        lessons(world, rollouts, [1, 1], plain=2)


def test_repeated_and_malformed_calls_are_no_lessons(rollouts, world):
    plain, _ = rollouts
    turns = list(plain.turns)
    turns[4] = replace(turns[4], parsed=replace(turns[4].parsed, calls=turns[1].parsed.calls))
    assert lessons(world, [replace(plain, turns=tuple(turns))], [1]) == []
    turns = [replace(plain.turns[0], parsed=replace(plain.turns[0].parsed, errors=("open",))), *plain.turns[1:]]
    assert lessons(world, [replace(plain, turns=tuple(turns))], [1]) == []
