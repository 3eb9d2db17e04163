import pytest

pytest.importorskip("rdkit")

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, ToolReply
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.molact.molecule import canonical, read_molecule
from handaxe.papers.molact.molecules import (
    LONGEST,
    changed_groups,
    gained,
    molecules,
    predicted_molecule,
    select_kind,
    shaped,
    source_similarity,
)
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

EDIT = {"kind": "edit", "source": "CCCF", "change": {"hydroxyl": 1}}
OPTIMISE = {"kind": "optimise", "source": "CCO", "property": "logp"}


@pytest.mark.parametrize("kinds", [("edit", "optimise"), ("edit",), ("optimise",)])
def test_molecules_keeps_the_world_contract(kinds):
    check_world(molecules(kinds=kinds), count=15)


def group_of(metadata, *texts):
    task = make_task(metadata=metadata)
    return make_group(task=task, trajectories=[make_trajectory(texts=[t], task=task) for t in texts])


def test_molecules_matches_its_example():
    assert changed_groups()(group_of(EDIT, "OCCCF", "CC(O)CF", "CCCF")).outcome.tolist() == [1, 1, 0]
    assert gained()(group_of(OPTIMISE, "CCCC", "CCO", "")).outcome.tolist() == [1, 0, 0]
    assert source_similarity()(group_of(EDIT, "FCCC")).outcome.tolist() == [1]


def test_questions_are_short_and_have_valid_molecules():
    for task in molecules().tasks("train", 200, 1):
        source = task.metadata["source"]
        assert 3 <= len(source) <= LONGEST and read_molecule(source) is not None
        assert task.messages[0].content.split()[-1] == source
        assert len(task.answer) <= LONGEST + 10


def test_the_split_of_a_molecule_is_constant():
    """For every spelling: OCCC and CCCO are one molecule."""
    made = [molecules().tasks(split, 200, 0) for split in ("train", "test")]
    train, test = ({canonical(read_molecule(task.metadata["source"])) for task in tasks} for tasks in made)
    assert train and test and not train & test


@pytest.mark.parametrize("text", ["C" * 24, "CCCC", "CCCCCCCCc1ccccc1", "c1ccccc1C1CCCCC1C(C)C"])
def test_a_constant_molecule_improves_few_tasks(text):
    world = molecules(kinds=("optimise",))
    right = []
    for task in world.tasks("test", 60, 0):
        group = make_group(task=task, trajectories=[make_trajectory(texts=[t], task=task) for t in (text, task.answer)])
        constant, expert = world.correct(group).outcome
        right.append(constant)
        assert expert == 1
    assert sum(right) / len(right) < 0.2


def test_predicted_molecule_is_the_last_valid_one():
    took, refused = ToolReply("0-0", "valid", "CCO"), ToolReply("0-1", "valid", "no", "retry")
    counted = ToolReply("0-2", "count_groups", "none")
    one = make_trajectory(
        texts=["", "CN "], calls=[["valid", "valid", "f"], []], replies=[[took, refused, counted], []]
    )
    assert predicted_molecule(one) == "CCO"
    assert predicted_molecule(make_trajectory(texts=[" CN\n"])) == "CN"


def test_metrics_count_gain_and_validity():
    world = molecules()
    gain, valid = world.gauges["property_gain"], world.gauges["valid"]
    (optimised,), (edited,) = group_of(OPTIMISE, "CCCC"), group_of(EDIT, "CC(")
    assert (gain.top(optimised, 1.0), gain.bottom(optimised, 1.0), valid.top(optimised, 1.0)) == (1, 1, 1)
    assert (gain.top(edited, 0.0), gain.bottom(edited, 0.0), valid.top(edited, 0.0)) == (0, 0, 0)


def test_select_kind_filters_tasks():
    tasks = molecules().tasks("train", 20, 0)
    kept = select_kind(tasks, "edit")
    assert kept and [task for task in tasks if task in kept] == kept
    with pytest.raises(TaskError, match="none is of the kind 'edits'"):
        select_kind(tasks, "edits")
    with pytest.raises(InputError, match="kinds are some of"):
        molecules(kinds=("edits",))


# --- MolAct's rewards -------------------------------------------------------------------------------------------


def test_shaped_reward_of_an_edit():
    """Invalid -1; else 0.8 for a correct edit, 0.15 of the likeness and 0.05 for a used tool."""
    group = group_of(EDIT, "OCCCF", "FCCC", "CC(")
    like = source_similarity()(group).outcome
    assert shaped()(group).outcome.tolist() == pytest.approx([0.8 + 0.15 * like[0], 0.15, -1])


def test_shaped_reward_of_an_improvement():
    """Paper's worked example: gain 0.6, likeness of scaffolds 0.8 and a used tool: 0.48 + 0.12 + 0.05 = 0.65, part by
    part.
    """
    group = group_of(OPTIMISE, "CCCC", "CCO", "CC(", "")
    assert shaped()(group).outcome.tolist() == pytest.approx([0.95, 0.15, -1, -1])
    task = make_task(metadata={**OPTIMISE, "source": "c1ccccc1O"})
    took = ToolReply("0-0", "count_groups", "none")
    texts = ("c1ccccc1N", "C1CCCCC1O")
    tried = [
        make_trajectory(texts=["", text], calls=[["count_groups"], []], replies=[[took], []], task=task)
        for text in texts
    ]
    group = make_group(task=task, trajectories=tried)
    gain, like = gained()(group).outcome, source_similarity(scaffold=True)(group).outcome
    assert like[0] == 1 and like[1] < 1
    assert shaped()(group).outcome.tolist() == pytest.approx((0.8 * gain + 0.15 * like + 0.05).tolist())
    only = [shaped(main=w, likeness=s, used=u)(group).outcome for w, s, u in ((0.6, 0, 0), (0, 0.8, 0), (0, 0, 1))]
    assert only[0].tolist() == pytest.approx((0.6 * gain).tolist())
    assert only[1].tolist() == pytest.approx((0.8 * like).tolist()) and only[2].tolist() == [1, 1]


def test_the_experts_reward_lacks_only_likeness():
    world, rewarded = molecules(), shaped()
    for task in world.tasks("train", 20, 2):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        scores = rewarded(make_group(task=task, trajectories=[one]))
        assert 0.85 <= scores.outcome[0] <= 1 and len(one.replies) == 1
        bad = demonstrate(
            world.env(world.tools), task, lambda task, facts: Message("assistant", "C("), format=Compact()
        )
        assert rewarded(make_group(task=task, trajectories=[bad])).outcome.tolist() == [-1]
