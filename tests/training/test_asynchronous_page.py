import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "asynchronous.md"


def test_the_code_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="ascii"), re.DOTALL)
    assert len(blocks) == 5
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_the_metrics_of_the_page_exist(world, tmp_path):
    """Every metric that the page names is one that a run reports."""
    engine = world.Talking(world.calls_then_answers)
    (metrics,) = world.train(**world.arguments(engine=engine, steps=1, spare=2, lockstep=True)).metrics
    named = set(re.findall(r"`((?:staleness|stopped|groups)(?:/\w+)?)`", PAGE.read_text(encoding="ascii")))
    named -= {"staleness", "groups"}  # the arguments
    always = {name for name in named if name not in ("stopped/tokens", "stopped/turns")}  # only where some were stopped
    assert len(named) >= 6 and always <= metrics.keys()
