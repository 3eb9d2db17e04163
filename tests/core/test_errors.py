import pytest

from handaxe.core import errors


@pytest.mark.parametrize("name", [n for n in errors.__all__ if n != "HandaxeError"])
def test_every_error_is_one_of_ours(name):
    assert issubclass(getattr(errors, name), errors.HandaxeError)


@pytest.mark.parametrize(
    ("name", "parent"),
    [("InputError", ValueError), ("TaskError", errors.InputError), ("CheckpointError", errors.InputError)]
    + [("ToolDefinitionError", errors.InputError), ("MethodError", errors.InputError)]
    + [("RecordError", ValueError), ("TrainingError", RuntimeError)],
)
def test_standard_handlers_keep_working(name, parent):
    """`except ValueError` around user input still catches ours."""
    assert issubclass(getattr(errors, name), parent)
    assert name in errors.__doc__


def test_a_failure_of_the_machinery_is_not_the_users_input():
    assert not issubclass(errors.InfrastructureError, ValueError)
    assert not issubclass(errors.VerifierError, ValueError)
