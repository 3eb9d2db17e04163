"""Sources of a judge by name: what each makes, and wrong names in one sentence."""

import pytest

from handaxe.asking.fitted_head import FittedHead
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.judge_source import check_judge_source, make_answerer
from handaxe.models.load import load

POLICY = load("tiny")
ENGINE = LocalEngine(POLICY.model)


@pytest.mark.parametrize(
    "source, kind",
    [("self", PolicyAnswerer), ("self@start", PolicyAnswerer), ("trained", TaughtAnswerer), ("tiny", PolicyAnswerer),
     ("head:tiny", FittedHead), ("http://127.0.0.1:9/v1#judge", PolicyAnswerer)],
)  # fmt: skip
def test_each_source_makes_its_answerer(source, kind):
    check_judge_source(source)
    made = make_answerer(source, ENGINE, POLICY.format)
    assert type(made) is kind
    if source == "self":
        assert made.engine is ENGINE
    if source == "self@start":
        assert made.engine is not ENGINE and made.engine.start_digest() == ENGINE.start_digest()
    if source.startswith("http"):
        assert isinstance(made.engine, OpenAICompatible)
        made.engine.close()


def test_a_users_own_answerer(monkeypatch, tmp_path):
    (tmp_path / "my_judge.py").write_text(
        "class Mine:\n    terse = True\n    def fingerprint(self):\n        return 'mine'\n"
        "    def answer(self, asks):\n        return []\none = Mine()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for source in ("my_judge:Mine", "my_judge:one"):
        check_judge_source(source)
        assert make_answerer(source, ENGINE, POLICY.format).fingerprint() == "mine"


@pytest.mark.parametrize(
    "source, message",
    [
        ("http://127.0.0.1:9/v1", "write the model behind the address, http://HOST/v1#NAME"),
        ("tinny", "tinny"),
        ("head:tinny", "tinny"),
        ("no_such_module:judge", "no_such_module"),
        ("", "--judge names nobody"),
        ("head:", "--judge names nobody"),
    ],
)
def test_a_wrong_source_is_one_sentence(source, message):
    with pytest.raises(InputError) as caught:
        check_judge_source(source)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_an_engine_without_twins_has_no_copy_at_the_start():
    with pytest.raises(InputError, match="has no twins, so --judge self@start"):
        make_answerer("self@start", object(), POLICY.format)
