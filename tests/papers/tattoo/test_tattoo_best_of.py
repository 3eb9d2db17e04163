import pytest

from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tattoo.table_steps import table_steps
from handaxe.papers.tattoo.tattoo_best_of import _figures, _items, _random_env, trajectory_score
from handaxe.papers.tattoo.verdicts import verdict_text
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = table_steps(terse=0.0)


def says(task, text):
    return demonstrate(WORLD.env(()), task, lambda task, facts: Message("assistant", text), format=Compact())


@pytest.mark.parametrize(
    "text, score",
    [("1:1+ 1:2- 1:1+", 1 / 3), ("1:1+ 1:1+ 1:1+", 1), ("1:1+", -1 / 3), ("", -1), ("1:2- 1:2- 1:2-", -1)],
)
def test_the_score_of_a_trajectory_is_the_mean_of_its_labels(text, score):
    (task,) = WORLD.tasks("train", 1, 0)
    assert trajectory_score(says(task, text)) == pytest.approx(score, abs=1e-6)


def test_figures_of_exact_and_of_constant_verifiers():
    """The exact verifier has the oracle's best of n; a verifier with one answer chooses at random."""
    items = _items(6, 8, 0.4, seed=1)
    exact = []
    constant = []
    for own in items:
        steps = [one.task.metadata["steps"] for one in own]
        texts = [" ".join(verdict_text(step["value"], step["claim"]) for step in one) for one in steps]
        exact.append([says(one.task, text) for one, text in zip(own, texts)])
        constant.append([says(one.task, "1:1+ 1:1+ 1:1+") for one in own])
    found = _figures({"tools": exact, "none": constant, "random": constant}, items, 8)
    assert found["steps/tools"] == 1.0 and found["steps/none"] < 0.8
    assert found["best/tools/8"] >= found["best/none/8"] + 0.2
    assert found["best/none/8"] == pytest.approx(found["best/mean"], abs=1e-9)
    assert found["gain/steps"] == pytest.approx(found["steps/tools"] - found["steps/none"], abs=1e-9)
    assert found["random/none"] == 0.0 and found["calls"] == 0.0


def test_a_correct_answer_has_the_sum_of_the_cells():
    for own in _items(4, 4, 0.4, seed=2):
        for one in own:
            cells = one.task.metadata["cells"]
            steps = one.task.metadata["steps"]
            total = cells[steps[0]["left"]] + sum(cells[cell] for cell in steps[1]["left"].split("+"))
            assert one.truth == float(steps[-1]["claim"] == str(total))


def test_random_results_belong_to_other_calls():
    (task,) = WORLD.tasks("test", 1, 0)
    one = demonstrate(_random_env, task, WORLD.expert, format=Compact())
    assert [reply.status for reply in one.replies] == ["ok"] * 3
    assert one.replies[0].content != str(task.metadata["cells"][one.calls[0].arguments["cell"]])
    assert {reply.content for reply in one.replies[1:]}.isdisjoint(step["value"] for step in task.metadata["steps"][1:])
