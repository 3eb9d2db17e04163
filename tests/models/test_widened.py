import pytest

from handaxe.models.widened import widened


class Part:
    """A tokenizer or a model, as far as keeping it goes."""

    def __init__(self, name, fails=False):
        self.name, self.fails = name, fails

    def save_pretrained(self, folder):
        if self.fails:
            raise OSError("no space left on device")
        (folder / self.name).write_text(self.name)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "models" / "small.gguf"
    file.parent.mkdir()
    file.write_bytes(b"weights")
    return file


def reading(log, fails=False):
    def read(file):
        log.append(file)
        return Part("tokenizer"), Part("model", fails)

    return read


def test_a_file_is_read_once_and_again_when_it_changes(file):
    log = []
    folder = widened(file, read=reading(log))
    assert {part.name for part in folder.iterdir()} == {"tokenizer", "model"}
    assert widened(file, read=reading(log)) == folder and log == [file]
    file.write_bytes(b"other weights")
    assert widened(file, read=reading(log)) != folder and len(log) == 2


def test_another_process_that_was_first_wins(file):
    log = []

    def late(path):
        assert widened(path, read=reading(log)).exists()
        return Part("tokenizer"), Part("model of the second")

    folder = widened(file, read=late)
    assert {part.name for part in folder.iterdir()} == {"tokenizer", "model"}
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_where_nothing_can_be_kept_the_file_is_read_as_it_is(file, monkeypatch, tmp_path):
    assert widened(file, read=reading([], fails=True)) == file.parent
    assert not list((tmp_path / "cache" / "gguf").iterdir())
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "no folder"))
    assert widened(file, read=reading([])) == file.parent


@pytest.mark.hf
@pytest.mark.slow
def test_what_is_kept_of_the_real_model_is_the_same_to_the_bit():
    torch = pytest.importorskip("torch")
    from handaxe.models import huggingface

    file = huggingface.smollm2_file()
    tokenizer, module = huggingface._read_gguf(file, file)
    again, kept = huggingface._read(file, None, "float32")
    ours, theirs = module.state_dict(), kept.state_dict()
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert tokenizer.get_vocab() == again.get_vocab() and tokenizer.chat_template == again.chat_template
    text = "<|im_start|>user\nGr\u00fc\u00dfe, 123!\n\t \u4f60<|im_end|>\n"
    assert tokenizer(text).input_ids == again(text).input_ids
    ids = torch.tensor([[1, 2, 3, 400]])
    assert torch.equal(module(ids).logits, kept(ids).logits)
