import json
from collections import Counter

import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.core.errors import InputError
from handaxe.worlds.repair import tasks as module
from handaxe.worlds.repair.source import candidates
from handaxe.worlds.repair.tasks import FILE, module_source, mutants


def test_the_file_has_some_500_tasks_of_three_packages():
    known = Counter(one.module.package for one in mutants())
    assert set(known) == {"toolz", "networkx", "hyperlink"} and 400 <= sum(known.values()) <= 700
    assert min(known.values()) >= 30 and len(FILE.read_bytes()) < 2**18


def test_every_task_is_a_mutation_of_its_function():
    for one in mutants():
        source = module_source(one.module.package, one.module.version, one.module.name, one.module.digest)
        function = next(function for function in source.functions if function.name == one.function)
        assert one.edit in candidates(function, source.rows)
        assert one.shown in one.module.names and one.killers >= 2
        changed = [n for n, (a, b) in enumerate(zip(source.rows, source.mutated(one.edit)), 1) if a != b]
        assert changed == [one.edit.line]


def test_no_task_occurs_twice():
    keys = [(one.module.tests, one.edit) for one in mutants()]
    assert len(set(keys)) == len(keys)


def test_packages_that_differ_from_the_file_are_named():
    with pytest.raises(InputError, match=r"toolz 0\.1, and 1\.2\.0 is installed: pip install"):
        module_source("toolz", "0.1", "toolz.itertoolz")
    with pytest.raises(InputError, match="no-such, which is not installed"):
        module_source("no-such", "1", "no.such")
    with pytest.raises(InputError, match="was changed after its installation"):
        module_source("toolz", "1.2.0", "toolz.itertoolz", "0123456789ab")


def test_a_line_without_the_token_is_named():
    one = mutants()[0]
    source = module_source(one.module.package, one.module.version, one.module.name)
    with pytest.raises(InputError, match="mine the tasks again"):
        source.mutated(one.edit._replace(occurrence=99))


def test_the_file_has_a_line_per_module():
    lines = FILE.read_text().strip().split("\n")
    assert len(lines) == 2 + len(json.loads(FILE.read_text())) and module.FILE is FILE
