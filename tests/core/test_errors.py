import pytest

from handaxe.core import errors


@pytest.mark.parametrize("name", [n for n in errors.__all__ if n != "HandaxeError"])
def test_every_error_is_a_handaxe_error(name):
    assert issubclass(getattr(errors, name), errors.HandaxeError)


@pytest.mark.parametrize(
    ("name", "parent"),
    [("InputError", ValueError), ("TaskError", errors.InputError), ("CheckpointError", errors.InputError)]
    + [("ToolDefinitionError", errors.InputError), ("MethodError", errors.InputError)]
    + [("RecordError", ValueError), ("TrainingError", RuntimeError)],
)
def test_errors_derive_from_standard_exceptions(name, parent):
    """`except ValueError` around user input still catches ours."""
    assert issubclass(getattr(errors, name), parent)
    assert name in errors.__doc__


def test_infrastructure_and_verifier_errors_are_no_value_errors():
    assert not issubclass(errors.InfrastructureError, ValueError)
    assert not issubclass(errors.VerifierError, ValueError)
