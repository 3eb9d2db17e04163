from dataclasses import replace

from handaxe.papers.agent0.votes import NOTE, Proposal, read_proposal
from handaxe.testing.make_records import make_trajectory


def test_a_proposal_is_read_from_the_notes():
    said = Proposal("1+1", "2", 0.5, 1.0, 4, "3")
    assert read_proposal(replace(make_trajectory(texts=["1+1"]), notes={NOTE: said._asdict()})) == said
    assert read_proposal(make_trajectory(texts=["1+1"])) == Proposal()
