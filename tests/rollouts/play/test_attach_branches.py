"""Trajectories of a tree find the one that they left."""

from dataclasses import replace

from handaxe.core.records import Branch
from handaxe.rollouts.play.attach_branches import attach_branches, common_turns
from handaxe.testing.make_records import make_trajectory


def one_of(name, *seeds, of=None):
    """An attempt of a turn a seed; `of` names the first of all, which it left somewhere."""
    made = make_trajectory(layouts=["Ut" + "tTt".join("p" * len(seeds))], id=name)
    turns = tuple(replace(turn, seed=seed) for turn, seed in zip(made.turns, seeds, strict=True))
    return replace(made, turns=turns, branch_of=None if of is None else Branch(of, 0, made.turns[0].start))


def test_branches_attach_to_the_sibling_of_the_longest_shared_prefix():
    a, b, c = one_of("a", 1, 2), one_of("b", 1, 3, of="a"), one_of("c", 1, 3, 4, of="a")
    assert (common_turns(a, b), common_turns(b, c), common_turns(a, a)) == (1, 2, 2)
    found = {one.id: one.branch_of for one in attach_branches([a, b, c], ())}
    assert found["a"] is None
    assert found["b"] == Branch("a", 0, b.turns[1].start)
    assert found["c"] == Branch("b", 0, c.turns[2].start)


def test_stopped_trajectories_come_last_and_have_no_scored_branch():
    a, b, c = one_of("a", 1, 2), one_of("b", 1, 3, of="a"), one_of("c", 1, 3, 4, of="a")
    found = attach_branches([a, b, c], {"b"})
    assert [one.id for one in found] == ["a", "c", "b"]
    assert found[1].branch_of == Branch("a", 0, c.turns[1].start)
    assert found[2].branch_of == Branch("c", 0, found[2].branch_of.token)
