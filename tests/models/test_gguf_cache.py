import pytest

from handaxe.models.gguf_cache import dequantize_gguf


class Part:
    """Fake tokenizer or model with `save_pretrained`."""

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


def make_reader(log, fails=False):
    def read(file):
        log.append(file)
        return Part("tokenizer"), Part("model", fails)

    return read


def test_file_is_read_once_and_again_after_a_change(file):
    log = []
    folder = dequantize_gguf(file, read=make_reader(log))
    assert {part.name for part in folder.iterdir()} == {"tokenizer", "model"}
    assert dequantize_gguf(file, read=make_reader(log)) == folder and log == [file]
    file.write_bytes(b"other weights")
    assert dequantize_gguf(file, read=make_reader(log)) != folder and len(log) == 2


def test_entry_of_the_faster_process_is_used(file):
    log = []

    def read_slowly(path):
        assert dequantize_gguf(path, read=make_reader(log)).exists()
        return Part("tokenizer"), Part("model of the second")

    folder = dequantize_gguf(file, read=read_slowly)
    assert {part.name for part in folder.iterdir()} == {"tokenizer", "model"}
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]


def test_without_write_access_the_folder_of_the_file_is_returned(file, monkeypatch, tmp_path):
    assert dequantize_gguf(file, read=make_reader([], fails=True)) == file.parent
    assert not list((tmp_path / "cache" / "gguf").iterdir())
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "no folder"))
    assert dequantize_gguf(file, read=make_reader([])) == file.parent


@pytest.mark.hf
@pytest.mark.slow
def test_cached_smollm2_equals_the_gguf_file_bitwise():
    torch = pytest.importorskip("torch")
    from handaxe.models import huggingface_files

    file = huggingface_files.smollm2_file()
    tokenizer, module = huggingface_files.read_gguf(file, file, trust=False)
    cached_tokenizer, cached, _ = huggingface_files.read_files(file, None, "float32")
    ours, theirs = module.state_dict(), cached.state_dict()
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert tokenizer.get_vocab() == cached_tokenizer.get_vocab()
    assert tokenizer.chat_template == cached_tokenizer.chat_template
    text = "<|im_start|>user\nGr\u00fc\u00dfe, 123!\n\t \u4f60<|im_end|>\n"
    assert tokenizer(text).input_ids == cached_tokenizer(text).input_ids
    ids = torch.tensor([[1, 2, 3, 400]])
    assert torch.equal(module(ids).logits, cached(ids).logits)
