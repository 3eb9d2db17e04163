"""`handaxe show`, `eval`, `replay` and `chat` on runs that a script made."""

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
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.load import load
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.worlds.sums import sums

OWN = """from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

reward = exact_match()
rollout = linear(max_turns=3, budget=Budget(calls=1))
tools = [calculator]
"""


def script(out, policy, *, rollout=None):
    world = sums()
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
        keep=RunConfig(out=out, progress=False),
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


def said(capsys, *words):
    code = main([str(word) for word in words])
    streams = capsys.readouterr()
    return code, streams.out + streams.err


def test_a_world_or_a_reward_evaluates_it(made, capsys, tmp_path):
    for words in (["--world", "sums"], ["--reward", "exact_match", "--tools", "calculator"],
                  ["--reward", "script_parts:reward", "--tools", "script_parts:tools"]):  # fmt: skip
        code, text = said(capsys, "eval", made, *words, "--tasks", 3, "--json", tmp_path / "found.json")
        body = json.loads((tmp_path / "found.json").read_text())
        assert code == 0 and (body["recipe"], body["steps"], len(body["tasks"])) == ("", 2, 3)
        assert body["settings"]["sampling"]["max_tokens"] == 24, "as in training"
        assert ("tasks of the record" in text) == ("--reward" in words)


def test_a_world_in_the_place_of_the_recipes_own(finished, capsys):
    code, text = said(capsys, "eval", finished, "--world", "sums", "--tasks", 2, "--max-tokens", 4)
    assert code == 0 and "2 held-out tasks" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which no recipe made: name a world, --world NAME, or --reward NAME"),
        (["--reward", "exact_match"], "has no tools of its own (it was trained with calculator): name them"),
        (["--world", "sumz"], "there is no world 'sumz'; did you mean sums?"),
        (["--reward", "exact_mach", "--tools", "calculator"], "did you mean exact_match"),
    ],
)
def test_what_is_missing_for_an_evaluation_is_said_in_one_line(made, capsys, words, message):
    code, text = said(capsys, "eval", made, *words)
    assert code == 2 and message in text and text.strip().count("\n") == 0


@pytest.mark.parametrize("words", [[], ["--tools", "calculator"], ["--tools", "script_parts:tools"], ["--step", 1]])
def test_it_is_replayed(made, capsys, words):
    code, text = said(capsys, "replay", made, *words)
    assert code == 0 and f"{4 if '--step' in words else 8} trajectories of" in text


def test_what_a_replay_needs_besides(made, tmp_path, capsys):
    code, text = said(capsys, "replay", made, "--tools")
    assert code == 2 and "does not keep its tools: name them" in text
    bounded = script(tmp_path / "bounded", load("tiny"), rollout=linear(max_turns=3, budget=Budget(calls=0)))
    code, text = said(capsys, "replay", bounded)
    assert code == 2 and "name what the script made it with, --rollout MODULE:ATTRIBUTE" in text.replace("\n", " ")
    one = script(tmp_path / "one", load("tiny"), rollout=linear(max_turns=3, budget=Budget(calls=1)))
    assert said(capsys, "replay", one, "--rollout", "script_parts:rollout")[0] == 0


@pytest.mark.hf
def test_a_run_of_a_model_of_transformers_is_shown_as_text_without_its_weights(adapted, small_llamas, tmp_path, capsys):
    run = Path(shutil.copytree(adapted, tmp_path / "run"))
    code, text = said(capsys, "show", run)
    assert code == 0 and "<turn>kindly user" in text.replace("\n", "") and "<turn>kindly assistant" in text
    for file in run.rglob("*.safetensors"):
        file.unlink()
    assert said(capsys, "show", run) == (0, text.replace(str(adapted), str(run)))
    shutil.rmtree(run / "checkpoints")
    assert said(capsys, "show", run)[1] == text, "a run that has no checkpoint yet"


@pytest.mark.hf
def test_an_older_run_of_such_a_model_is_shown_by_its_checkpoints_tokenizer(adapted, tmp_path, capsys):
    run = Path(shutil.copytree(adapted, tmp_path / "run"))
    shutil.rmtree(run / "format")
    code, text = said(capsys, "show", run)
    assert code == 0 and "<turn>kindly user" in text


@pytest.mark.hf
def test_a_run_of_an_adapter_is_evaluated_and_replayed(adapted, capsys):
    assert said(capsys, "eval", adapted, "--world", "sums", "--tasks", 2)[0] == 0
    assert said(capsys, "replay", adapted)[0] == 0
    code, text = said(capsys, "chat", adapted, "1+1=?", "--tools", "calculator", "--max-tokens", 4)
    assert code == 1 and "cut off" in text
