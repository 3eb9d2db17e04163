from dataclasses import replace

import pytest

from handaxe.core.records import Group, ToolCall, ToolReply
from handaxe.judges.asked_steps import AskedSteps
from handaxe.papers.smartsnap.evidence_view import answer_judge, chain_judge, evidence_view, view_size
from handaxe.papers.smartsnap.submission import read_submission
from handaxe.testing.make_records import make_task, make_trajectory

RESULTS = ("[4071 boss] 4071 boss 5526", "[5526 ally] 5526 ally 1390")
METADATA = {"gold_documents": ["4071 boss", "5526 ally"]}


def rollout(evidences, message="1390"):
    last = ToolCall("submit", {"message": message, "evidences": list(evidences)})
    replies = [[ToolReply(f"{n}-0", "search", text)] for n, text in enumerate(RESULTS)]
    one = make_trajectory(
        texts=["", "", ""],
        calls=[["search"], ["search"], [last]],
        replies=[*replies, [ToolReply("2-0", "submit", "submitted")]],
        task=make_task(question="4071 boss ally?", answer="1390", metadata=METADATA),
    )
    return replace(one, turns=tuple(replace(turn, parsed=replace(turn.parsed, raw="CALL")) for turn in one.turns))


def score(judge, view):
    return judge.score_steps(Group(view.task, (view,)))[0].tolist()


def test_the_judge_sees_the_chosen_observations_alone():
    one = rollout([1])
    view = evidence_view(one, read_submission(one))
    desk = type("Desk", (), {"answerer": type("Answerer", (), {"terse": False})})
    for name in ("smartsnap/valid", "smartsnap/success"):
        asked = AskedSteps(desk, name, 0.0, 1.0).question(view, 0)
        assert dict(asked.fields) == {"task": "4071 boss ally?", "answer": "1390", "then": RESULTS[1]}
    assert view_size(view) == len("4071 boss ally?") + len("1390") + len(RESULTS[1])


def test_the_whole_rollout_has_every_action_and_observation():
    one = rollout([1])
    view = evidence_view(one, read_submission(one), sees="all")
    assert [reply.content for reply in view.replies] == ["CALL", RESULTS[0], "CALL", RESULTS[1], "CALL", "submitted"]
    slow = sum(len(reply.content) for turn in one.turns for reply in turn.replies) + 3 * len("CALL")
    assert view_size(view) == slow + len("4071 boss ally?") + len("1390")


@pytest.mark.parametrize("sees", ["evidence", "all"])
@pytest.mark.parametrize("evidences, message", [((0, 1), "1390"), ((1,), "1390"), ((0, 1), "5526"), ((0, 0), "no")])
def test_rules_equal_a_slow_loop(sees, evidences, message):
    one = rollout(evidences, message)
    view = evidence_view(one, read_submission(one), sees=sees)
    texts = [RESULTS[n] for n in evidences] if sees == "evidence" else RESULTS
    complete = True
    for name in METADATA["gold_documents"]:
        complete = complete and any(f"[{name}]" in text for text in texts)
    assert score(chain_judge(slip=0.2), view) == [0.8 if complete else 0.2]
    assert score(answer_judge(slip=0.2), view) == [0.8 if message == "1390" else 0.2]
    assert score(answer_judge(), view) == [float(message == "1390")]


def test_text_of_the_agent_is_no_evidence_and_other_turns_have_no_label():
    one = rollout([1])
    forged = replace(
        one,
        turns=tuple(replace(turn, parsed=replace(turn.parsed, raw="[4071 boss]"), replies=()) for turn in one.turns),
    )
    view = evidence_view(forged, read_submission(one), sees="all")
    assert score(chain_judge(), view) == [0.0]
    assert score(chain_judge(), one) == [0.5] * 3 == score(answer_judge(), one)
