import math

import pytest
from rich.console import Console

from handaxe.commands.run_outcome import print_claims, print_outcome, read_outcome, result_body
from handaxe.evaluation.figures import evaluations
from handaxe.methods.run_spec import run_template
from handaxe.training.record.run_record import RunRecord


def shown(found, width=80):
    console = Console(record=True, width=width, highlight=False)
    print_outcome(found, console)
    return console.export_text()


def test_outcome_of_a_finished_run_has_tables_and_further_commands(finished, capsys):
    found = read_outcome(finished)
    assert sorted(found.evaluated) == [0, 2] and found.before is found.evaluated[0]
    text = shown(found)
    assert "4 held-out tasks" in text and "reward (training)" in text
    assert f"handaxe resume {finished} --steps 4" in text
    with RunRecord.open(finished) as record:
        assert evaluations(record)[2] == found.after


def test_outcome_of_a_stopped_run_has_the_resume_command(finished, capsys):
    text = shown(read_outcome(finished, stopped="interrupted"))
    assert f"stopped    after 2 steps; continue with: handaxe resume {finished}" in text


def test_outcome_without_evaluations_has_rewards(tmp_path, capsys):
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [], {"reward": 0.25})
    found = read_outcome(tmp_path / "run")
    assert (found.before, found.after, found.comparison) == (None, None, None)
    assert "handaxe show" in shown(found)
    body = result_body(found, method="r", arguments={}, command="c", seconds=1.26)
    assert body["before"] == body["after"] == body["difference"] == {}
    assert body["reward"] == [0.25] and body["seconds"] == 1.3


FLAT = {"groups": 4.0, "groups/zero_advantage": 4.0, "groups/trained": 4.0, "loss/kl": 0.1, "reward": 0.0}


@pytest.mark.parametrize(
    ("second", "idle"),
    [
        ({}, True),
        ({"groups/zero_advantage": 0.0, "groups/trained": 0.0}, True),  # selection dropped all groups
        ({"groups": 0.0}, True),  # nothing was sampled
        ({"groups/zero_advantage": 3.0}, False),
        ({"loss/imitation": 0.1}, False),  # another part of the loss learns
    ],
)
def test_a_run_without_any_gradient_is_reported(tmp_path, second, idle):
    with RunRecord(tmp_path / "run") as record:
        for step, row in enumerate([FLAT, FLAT | second]):
            record.write_step(step, [], row)
    assert ("caution    nothing was learned: in all" in shown(read_outcome(tmp_path / "run"))) == idle


@pytest.mark.parametrize(("nothing", "idle"), [(1.0, True), (0.0, False)])
def test_steps_without_a_loss_are_idle_if_they_wanted_to_train(tmp_path, nothing, idle):
    """Methods whose stages alone train have steps without a loss, and nothing_to_train is 0."""
    row = {"groups": 4.0, "groups/trained": 0.0, "nothing_to_train": nothing, "reward": 0.5}
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [], row)
    assert ("nothing was learned" in shown(read_outcome(tmp_path / "run"))) == idle


def test_a_run_with_gradients_or_without_steps_has_no_caution(finished, tmp_path):
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [], {"reward": 0.25})
    assert "nothing was learned" not in shown(read_outcome(tmp_path / "run"))


def over_steps(tmp_path, rows):
    with RunRecord(tmp_path / "run") as record:
        for step, row in enumerate(rows):
            record.write_step(step, [], row)
    found = read_outcome(tmp_path / "run")
    return result_body(found, method="r", arguments={}, command="c", seconds=1.0)["training"]


def step(*, sampled, trained, **seconds):
    return {"tokens/sampled": sampled, "tokens/trained": trained} | {f"seconds/{k}": v for k, v in seconds.items()}


def test_rate_is_all_tokens_over_all_seconds(tmp_path):
    """The first of three steps samples all groups: 300 tokens in 9 + 0.5 + 0.5 s. The mean of the rates of steps would
    be (100 / 9 + 200 + 200) / 3 = 137. Seconds of tools are part of sampling and do not count again."""
    first = step(sampled=100.0, trained=50.0, sampling=8.0, reward=0.25, credit=0.25, update=0.5, tools=70.0)
    ahead = step(sampled=100.0, trained=50.0, sampling=0.0, reward=0.125, credit=0.125, update=0.25, tools=0.0)
    training = over_steps(tmp_path, [first, ahead, ahead])
    assert training["step_seconds"]["value"] == pytest.approx(10 / 3)
    assert training["tokens_per_second"]["value"] == pytest.approx(30)
    assert training["trained_tokens_per_second"]["value"] == pytest.approx(15)
    low, high = (training["tokens_per_second"][end] for end in ("low", "high"))
    assert 100 / 9 - 1e-9 <= low < 30 < high <= 200 + 1e-9


def test_equal_steps_give_an_interval_of_zero_width(tmp_path):
    rate = over_steps(tmp_path, [step(sampled=20.0, trained=0.0, sampling=1.5, update=0.5)] * 3)
    assert rate["tokens_per_second"] == pytest.approx({"value": 10, "low": 10, "high": 10})
    assert rate["trained_tokens_per_second"] == {"value": 0, "low": 0, "high": 0}


def test_run_without_token_counts_in_some_steps_has_no_rate(tmp_path):
    """Such as a run that an earlier version started."""
    training = over_steps(tmp_path, [{"seconds/sampling": 1.0}, step(sampled=5.0, trained=5.0, sampling=3.0)])
    assert set(training) == {"step_seconds"} and math.isclose(training["step_seconds"]["value"], 2)


def claims_of(name, width=400):
    console = Console(record=True, width=width)
    print_claims(run_template(name).default(), console)
    return console.export_text().splitlines()


def test_claims_are_printed_with_metric_baseline_and_command(capsys):
    page = run_template("grpo").page
    assert claims_of("grpo") == [
        f"claim      {page.claims[0].text} (pass@1 up, against start)",
        f"claim      {page.claims[1].text} "
        "(training/seconds/update (mean of the run) down, against ppo --minibatches 1)",
        "decide     handaxe replicate grpo",
    ]
    assert "against grpo_no_kl" in claims_of("otc")[0]
    assert claims_of("grpo_no_kl") == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_output_fits_a_narrow_terminal_without_cuts(finished, width, capsys):
    text = shown(read_outcome(finished), width=width)
    table = text[text.index("held-out tasks") : text.index("\nrun ")]
    assert "\u2026" not in text and max(map(len, table.splitlines())) <= width
    assert ("verdict" in table) == (width >= 80) and "unclear" in table
    words = " ".join(" ".join(line.split()) for line in claims_of("grpo", width))
    assert " ".join(" ".join(line.split()) for line in claims_of("grpo")) == words
