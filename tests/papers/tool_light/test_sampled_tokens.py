from dataclasses import replace

from handaxe.core.records import Branch
from handaxe.papers.tool_light.sampled_tokens import distinct_chains, sampled_tokens
from handaxe.testing.make_records import make_trajectory


def test_shared_tokens_count_once():
    """A main chain of 5 tokens; a branch of 6 that shares three ids, of which the last is a token of the policy."""
    main = make_trajectory(layouts=["Ut ppp tTt pp"])
    branch = replace(make_trajectory(layouts=["Ut pppp tTt pp"], id="b"), branch_of=Branch(main.id, 0, 3))
    assert sampled_tokens([main, branch]) == 5 + 6 - 1
    later = replace(make_trajectory(layouts=["Ut ppp", "Ut pp"], id="c"), branch_of=Branch(main.id, 1, 3))
    assert sampled_tokens([later]) == 1, "all of the first sequence is shared"


def test_distinct_chains_compare_the_tokens_of_turns():
    main = make_trajectory(layouts=["Ut ppp tTt pp"])
    assert distinct_chains([main, main]) == 1
    assert distinct_chains([main, make_trajectory(layouts=["Ut ppp tTt pp"], id="other")]) == 2
