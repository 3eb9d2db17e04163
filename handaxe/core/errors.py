"""Exceptions of handaxe.

    HandaxeError
    |-- InputError (ValueError)          invalid input of the user
    |   |-- ToolDefinitionError          a tool without types, two tools of one name
    |   |-- TaskError                    an empty data set, a task without an answer
    |   |-- MethodError                  an unknown method or argument
    |   `-- CheckpointError              a checkpoint that is damaged or does not fit
    |-- RecordError (ValueError)         a trajectory that breaks an invariant of handaxe.core.records
    |-- TrainingError (RuntimeError)     a batch with nothing to train, a lost rank of a cluster
    |   |-- NonFiniteError               a loss, gradient or log-prob that is not finite
    |   |   `-- SamplingError            a request with logits that are not finite
    |   `-- UnscoredError                a step without any scored rollout: tools or reward failed
    |-- Retry                            raised by a tool: the policy reads the message and may try again
    |-- Failed                           raised by a tool: the policy reads the message; the same call fails again
    |-- InfrastructureError              a sandbox or service died: never the policy's fault, never scored
    `-- VerifierError                    a reward could not decide: never scored

Each message names the problem, its place and a remedy.
"""

__all__ = [
    "CheckpointError",
    "Failed",
    "HandaxeError",
    "InfrastructureError",
    "InputError",
    "MethodError",
    "NonFiniteError",
    "RecordError",
    "Retry",
    "SamplingError",
    "TaskError",
    "ToolDefinitionError",
    "TrainingError",
    "UnscoredError",
    "VerifierError",
]


class HandaxeError(Exception):
    """Base class of all handaxe exceptions."""


class InputError(HandaxeError, ValueError):
    """Invalid input of the user."""


class ToolDefinitionError(InputError):
    """Invalid tool definition: no types, no docstring, or a duplicate name."""


class TaskError(InputError):
    """Empty data set, or a task without the fields that a reward needs."""


class MethodError(InputError):
    """Unknown method, or unknown argument of a method."""


class CheckpointError(InputError):
    """Checkpoint that is damaged, incomplete or made for another model."""


class RecordError(HandaxeError, ValueError):
    """Trajectory that breaks an invariant of `handaxe.core.records.check`."""


class TrainingError(HandaxeError, RuntimeError):
    """Optimiser step that cannot be taken: no token trains, a rank of a cluster was lost, or a value is not finite."""


class NonFiniteError(TrainingError):
    """Loss, gradient or log-prob that is not finite. An earlier checkpoint and a lower learning rate may help."""


class SamplingError(NonFiniteError):
    """Request `ticket` of a stream with logits that are not finite. The other requests of the stream continue."""

    def __init__(self, message: str = "", *, ticket: int = -1):
        super().__init__(message)
        self.ticket = ticket


class UnscoredError(TrainingError):
    """Step without any scored rollout, because tools or the reward failed."""


class Retry(HandaxeError):
    """Raised by a tool: the policy reads the message and may try again."""


class Failed(HandaxeError):
    """Raised by a tool: the policy reads the message; the same call will fail again."""


class InfrastructureError(HandaxeError):
    """Failure of a tool's infrastructure. The trajectory ends as `infra_error` and is never scored."""


class VerifierError(HandaxeError):
    """Undecided reward. The trajectory with id `trajectory` ends as `verifier_error`, never scored."""

    def __init__(self, message: str = "", *, trajectory: str = ""):
        super().__init__(message)
        self.trajectory = trajectory
