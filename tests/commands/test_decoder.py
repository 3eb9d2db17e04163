import json

from handaxe.commands.decoder import make_decoder


def test_run_decodes_with_its_saved_chat_format(run):
    assert make_decoder(run)([104, 105]) == "hi"


def test_run_of_an_unknown_format_decodes_to_ids(run):
    (run / "recipe.json").write_text(json.dumps({"recipe": None, "arguments": {}}))
    for file in (*(run / "format").iterdir(), *run.glob("checkpoints/*/engine/model/*")):
        if file.is_file():
            file.unlink()
    assert make_decoder(run)([104, 105]) == "<104><105>"
