import importlib
import itertools

import pytest

pytest.importorskip("sqlglot")

from handaxe.baselines.grpo_no_kl import grpo_no_kl
from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Scores
from handaxe.methods.method import RunSettings
from handaxe.papers.reasoning_sql import reasoning_sql
from handaxe.papers.reasoning_sql.tables import SCHEMA, bigram_overlap, predicted_query, schema_overlap, tables
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.worlds import check_world
from handaxe.tools.database.query_function import TIMED_OUT

tables_module = importlib.import_module("handaxe.papers.reasoning_sql.tables")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("brief", [True, False])
def test_tables_keeps_the_world_contract(brief):
    check_world(tables(brief=brief), count=20)


def group_of(answer, *queries):
    task = make_task(answer=answer)
    return make_group(task=task, trajectories=[make_trajectory(texts=[f"<sql>{q}</sql>"], task=task) for q in queries])


def test_every_kind_occurs_and_constant_rows_are_incorrect():
    world = tables()
    made = world.tasks("train", 120, 0)
    assert {task.metadata["kind"] for task in made} == {"pick", "filter", "both", "count", "best", "order", "join"}
    for task in made[:30]:
        right = world.correct(group_of(task.answer, task.answer, f"{task.answer} limit 0", "select 7"))
        assert right.outcome.tolist() == [1, 0, 0] and right.channels["executes"].tolist() == [1, 1, 1]


def test_predicted_query_is_between_tags():
    one = make_trajectory(texts=["so <sql>select 1</sql><sql>select 2</sql>"])
    assert predicted_query(one) == "select 2"
    assert predicted_query(make_trajectory(texts=["select 1"])) == ""


def test_partial_rewards_match_their_examples():
    group = group_of("select a, b from t", "select a, c from t")
    assert schema_overlap()(group).outcome.tolist() == [2 / 4]
    assert schema_overlap(names=False)(group).outcome.tolist() == [1 / 3]
    assert bigram_overlap()(group).outcome.tolist() == [3 / 7]


def test_sentences_name_the_tables():
    said = tables(brief=False).tasks("train", 1, 0)[0].messages[0].content
    assert all(table in said and all(column in said for column in columns) for table, columns in SCHEMA.items())


# --- the order of rewards by Reasoning-SQL's weights --------------------------------------------------------------


def test_paper_weights_of_a_worked_example():
    """Columns alone, correct rows 0, it executes, items 1/3, bigrams 3/6, format 1: 2.833."""
    channel = {"rows": 0.0, "executes": 1.0, "items": 1 / 3, "bigrams": 0.5, "format": 1.0}
    parts = {name: (3.0 if name == "rows" else 1.0, constant(value)) for name, value in channel.items()}
    assert weighted(parts)(make_group(size=1)).outcome.tolist() == pytest.approx([2.8333], abs=1e-4)


def test_correct_queries_score_above_incorrect_ones():
    """By the parts alone the worst correct query gets 4 (rows, and it executes) and an incorrect query at most 4. Tags
    separate
    them: without a query between tags, no answer is correct.
    """
    shares = (0.0, 0.5, 1.0)
    worst = min(worth(1, 1, items, pairs, 0) for items, pairs in itertools.product(shares, shares))
    best = max(worth(0, *rest) for rest in itertools.product(shares, repeat=4))
    assert worst == best == 4
    tagged = min(worth(1, 1, items, pairs, 1) for items, pairs in itertools.product(shares, shares))
    assert tagged == 5 > best


def test_a_judge_breaks_the_order_of_scores():
    """The judge's 2 go to incorrect queries only: up to 6, against 5 for the worst correct query."""
    assert worth(0, 1, 1, 1, 1, judge=1) == 6 > worth(1, 1, 0, 0, 1, judge=1) == 5
    assert worth(0, 1, 1, 1, 1, judge=0.5) == worth(1, 1, 0, 0, 1, judge=0.5) == 5


def test_correct_queries_score_above_incorrect_ones_in_the_world():
    world = tables()
    reward = reasoning_sql(grpo_no_kl(world, RunSettings())).reward
    for task in world.tasks("train", 30, 3):
        changed = task.answer.replace("<", ">") if "<" in task.answer else task.answer.replace("select ", "select 7, ")
        outside = f"with q as ({task.answer}) select * from q"
        group = group_of(task.answer, task.answer, outside, changed, "select 7", "select")
        scores = reward(group)
        right = scores.channels["rows"] == 1
        assert right.tolist()[:2] == [True, True] and not right[2:].any()
        assert scores.outcome[0] == 7 and scores.outcome[right].min() > scores.outcome[~right].max()


def constant(value):
    return outcome(lambda trajectory: value)


def worth(rows, executes, items, pairs, form, *, judge=0.0):
    """Score by the paper's weights; a judge scores queries with incorrect rows."""
    parts = {"executes": executes, "items": items, "bigrams": pairs, "format": form}
    judged = gate(on=constant(rows), then=constant(0.0), otherwise=constant(judge))
    reward = weighted(
        {"rows": (3.0, constant(rows)), "judge": (2.0, judged)} | {k: (1.0, constant(v)) for k, v in parts.items()}
    )
    scores = reward(make_group(size=1))
    assert isinstance(scores, Scores)
    return scores.outcome[0]


def test_a_failed_reference_query_raises(monkeypatch):
    """A busy machine must not change the tasks of a seed."""
    late = {"error": f"{TIMED_OUT} than 5 seconds and was stopped"}
    answers = iter([{"rows": [[1]]}, late])
    monkeypatch.setattr(tables_module, "query_function", lambda *given, **more: lambda sql: next(answers))
    with pytest.raises(InfrastructureError, match="took longer"):
        tables().tasks("train", 1, 0)
