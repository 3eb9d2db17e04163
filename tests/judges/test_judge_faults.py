"""Every part that asks a model, with every fault of a chat server: no verdict, never a score, and never the rule's."""

import pytest
from asking.scripted_server import LABEL_FAILURES, SCRIPTS, TOP, options_of, scripted, served, with_top
from helpers.chat_server import ChatServer

from handaxe.asking.desk import AskDesk
from handaxe.asking.store import AnswerStore
from handaxe.cli import main
from handaxe.core.errors import VerifierError
from handaxe.core.records import Criterion
from handaxe.judges.asked_check import asked_check
from handaxe.judges.asked_steps import asked_steps
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.record.run_record import RunRecord

GOAL = Criterion("key", "It holds the key.")
PARTS = {
    "check": lambda desk, group: asked_check(desk=desk)(group[0], [GOAL]),
    "steps": lambda desk, group: asked_steps(desk=desk).score_steps(group),
}


def group():
    return make_group(trajectories=[make_trajectory(texts=["a"])])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", LABEL_FAILURES)
def test_a_fault_leaves_the_rollout_without_a_score(part, name):
    with served(scripted(name), **options_of(name)) as answerer:
        desk = AskDesk(answerer, min_coverage=0.0)
        with pytest.raises(VerifierError, match=LABEL_FAILURES[name]) as caught:
            PARTS[part](desk, made := group())
        assert caught.value.trajectory == made[0].id and all(one.value is None for one in desk.take_calls())


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - set(LABEL_FAILURES)))
def test_other_scripts_give_a_verdict(part, name):
    with served(scripted(name), **options_of(name)) as answerer:
        PARTS[part](AskDesk(answerer, min_coverage=0.0), group())


SMALL = [
    "--model",
    "tiny",
    "--groups",
    "2",
    "--group-size",
    "4",
    "--held-out",
    "2",
    "--steps",
    "1",
    "--eval-every",
    "0",
]


def train(server, out):
    judge = f"{server.url}#judge"
    return main(["train", "tp_grpo", *SMALL, "--judge", judge, "--out", str(out)])


@pytest.mark.slow
def test_a_run_scores_what_was_answered_and_nothing_else(tmp_path):
    """A server that filters questions about a turn without a tool's reply."""
    pytest.importorskip("reasoning_gym")

    def answer(body):
        return (400, {"error": "filtered"}) if 'tool: ""' in body["messages"][-1]["content"] else with_top(TOP)

    with ChatServer(answer) as server:
        assert train(server, tmp_path / "run") == 0
    calls = AnswerStore(tmp_path / "run" / "judge.sqlite").calls()
    assert calls and all((one.value is None) == bool(one.failure) for one in calls)


@pytest.mark.slow
def test_a_server_that_never_answers_ends_the_run_without_a_score(tmp_path, capsys):
    pytest.importorskip("reasoning_gym")
    with ChatServer((400, {"error": "filtered"})) as server:
        assert train(server, tmp_path / "run") == 1
    error = capsys.readouterr().err
    assert "the judge gave no verdict" in error and "refused" in error
    with RunRecord.open(tmp_path / "run") as record:
        assert not [one for one in record.groups() if getattr(one, "scores", None) is not None]
