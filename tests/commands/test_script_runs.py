"""`handaxe show`, `eval`, `replay` and `chat` on runs of scripts."""

import json
import shutil
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.core.records import Sampling
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.policy import policy as policy_loss
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.load import load
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.worlds.arithmetic import arithmetic

OWN = """from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

reward = exact_match()
rollout = linear(max_turns=3, budget=Budget(calls=1))
tools = [calculator]
"""


def script(out, policy, *, rollout=None):
    world = arithmetic()
    loss = policy_loss(ratio=token(), surrogate=clip(), reduction=token_mean())
    train(
        engine=LocalEngine(policy.model),
        format=policy.format,
        env=world.env([calculator]),
        tasks=in_order(world.tasks("train", 20, 0)),
        rollout=rollout or linear(max_turns=2),
        reward=exact_match(),
        credit=group_norm(),
        loss=loss,
        sampling=Sampling(max_tokens=24),
        steps=2,
        groups=2,
        group_size=2,
        run=RunConfig(out=out, progress=False),
    )
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return script(tmp_path_factory.mktemp("scripts") / "made", load("tiny"))


@pytest.fixture(scope="module")
def adapted(small_llamas, tmp_path_factory):
    from handaxe.models.huggingface import load_pretrained

    model = load_pretrained(small_llamas / "0", lora={"r": 2})
    format = ChatTemplate(model.tokenizer, options={"mood": "kindly "})
    return script(tmp_path_factory.mktemp("scripts") / "adapted", load((model, format)))


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "script_parts.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)


def output(capsys, *words):
    code = main([str(word) for word in words])
    streams = capsys.readouterr()
    return code, streams.out + streams.err


def test_eval_needs_a_world_or_a_reward(made, capsys, tmp_path):
    for words in (["--world", "arithmetic"], ["--reward", "exact_match", "--tools", "calculator"],
                  ["--reward", "script_parts:reward", "--tools", "script_parts:tools"]):  # fmt: skip
        code, text = output(capsys, "eval", made, *words, "--tasks", 3, "--json", tmp_path / "found.json")
        body = json.loads((tmp_path / "found.json").read_text())
        assert code == 0 and (body["method"], body["steps"], len(body["tasks"])) == ("", 2, 3)
        assert body["settings"]["sampling"]["max_tokens"] == 24, "as in training"
        assert ("tasks of the record" in text) == ("--reward" in words)


def test_world_option_replaces_the_world_of_the_run(finished, capsys):
    code, text = output(capsys, "eval", finished, "--world", "arithmetic", "--tasks", 2, "--max-tokens", 4)
    assert code == 0 and "2 held-out tasks" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "its correctness rule is unknown: name a world, --world NAME, or --reward NAME"),
        (["--reward", "exact_match"], "has no tools (trained with calculator): name them"),
        (["--world", "arithmetik"], "there is no world 'arithmetik'; did you mean arithmetic"),
        (["--reward", "exact_mach", "--tools", "calculator"], "did you mean exact_match"),
    ],
)
def test_missing_arguments_of_eval_are_one_line(made, capsys, words, message):
    code, text = output(capsys, "eval", made, *words)
    assert code == 2 and message in text and text.strip().count("\n") == 0


@pytest.mark.parametrize("words", [[], ["--tools", "calculator"], ["--tools", "script_parts:tools"], ["--step", 1]])
def test_run_of_a_script_is_replayed(made, capsys, words):
    code, text = output(capsys, "replay", made, *words)
    assert code == 0 and f"{4 if '--step' in words else 8} trajectories of" in text


def test_replay_needs_tools_and_rollout_by_name(made, tmp_path, capsys):
    code, text = output(capsys, "replay", made, "--tools")
    assert code == 2 and "so its tools are unknown: name them" in text
    bounded = script(tmp_path / "bounded", load("tiny"), rollout=linear(max_turns=3, budget=Budget(calls=0)))
    code, text = output(capsys, "replay", bounded)
    assert code == 2 and "name the rollout of the script, --rollout MODULE:ATTRIBUTE" in text.replace("\n", " ")
    one = script(tmp_path / "one", load("tiny"), rollout=linear(max_turns=3, budget=Budget(calls=1)))
    assert output(capsys, "replay", one, "--rollout", "script_parts:rollout")[0] == 0


@pytest.mark.hf
def test_run_of_a_transformers_model_is_shown_as_text_without_weights(adapted, small_llamas, tmp_path, capsys):
    run = Path(shutil.copytree(adapted, tmp_path / "run"))
    code, text = output(capsys, "show", run)
    assert code == 0 and "<turn>kindly user" in text.replace("\n", "") and "<turn>kindly assistant" in text
    for file in run.rglob("*.safetensors"):
        file.unlink()
    assert output(capsys, "show", run) == (0, text.replace(str(adapted), str(run)))
    shutil.rmtree(run / "checkpoints")
    assert output(capsys, "show", run)[1] == text, "a run without a checkpoint"


@pytest.mark.hf
def test_older_run_of_a_transformers_model_is_shown_by_the_tokenizer_of_its_checkpoint(adapted, tmp_path, capsys):
    run = Path(shutil.copytree(adapted, tmp_path / "run"))
    shutil.rmtree(run / "format")
    code, text = output(capsys, "show", run)
    assert code == 0 and "<turn>kindly user" in text


@pytest.mark.hf
def test_run_of_an_adapter_is_evaluated_and_replayed(adapted, capsys):
    assert output(capsys, "eval", adapted, "--world", "arithmetic", "--tasks", 2)[0] == 0
    assert output(capsys, "replay", adapted)[0] == 0
    code, text = output(capsys, "chat", adapted, "1+1=?", "--tools", "calculator", "--max-tokens", 4)
    assert code == 1 and "truncated" in text
