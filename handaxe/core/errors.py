"""Every error that handaxe raises on purpose.

    HandaxeError
    |-- InputError (ValueError)          what the user handed over is wrong
    |   |-- ToolDefinitionError          a tool without types, two tools of one name
    |   |-- TaskError                    an empty data set, a task without an answer
    |   |-- MethodError                  an unknown recipe or argument
    |   `-- CheckpointError              a checkpoint that is damaged or does not fit
    |-- RecordError (ValueError)         a trajectory that breaks an invariant of handaxe.core.records
    |-- TrainingError (RuntimeError)     a loss or gradient that is not finite, a batch with nothing to train
    |   `-- UnscoredError                a step of which no attempt could be scored, since tools or reward failed
    |-- Retry                            raised by a tool: tell the policy why, it may try again
    |-- Failed                           raised by a tool: tell the policy why, trying again is useless
    |-- InfrastructureError              a sandbox or service died: never the policy's fault, never scored
    `-- VerifierError                    a reward could not decide: never scored

Each message says what was wrong, where, and what to do.
"""

__all__ = [
    "CheckpointError",
    "Failed",
    "HandaxeError",
    "InfrastructureError",
    "InputError",
    "MethodError",
    "RecordError",
    "Retry",
    "TaskError",
    "ToolDefinitionError",
    "TrainingError",
    "UnscoredError",
    "VerifierError",
]


class HandaxeError(Exception):
    """The root of the tree above."""


class InputError(HandaxeError, ValueError):
    """What the user handed over is wrong."""


class ToolDefinitionError(InputError):
    """A tool cannot be described to a policy: no types, no docstring, or a name twice."""


class TaskError(InputError):
    """A data set is empty, or a task lacks what a reward needs."""


class MethodError(InputError):
    """There is no such recipe, or it takes no such argument."""


class CheckpointError(InputError):
    """A checkpoint is damaged, incomplete or made for another model."""


class RecordError(HandaxeError, ValueError):
    """A trajectory breaks an invariant of `handaxe.core.records.check`."""


class TrainingError(HandaxeError, RuntimeError):
    """An optimiser step cannot be taken: a loss that is not finite, or nothing to train on."""


class UnscoredError(TrainingError):
    """Of a whole step no attempt could be scored, since the tools or the reward failed."""


class Retry(HandaxeError):
    """Raised by a tool: the policy reads the message and may try again."""


class Failed(HandaxeError):
    """Raised by a tool: the policy reads the message; the same call will fail again."""


class InfrastructureError(HandaxeError):
    """A tool's machinery died. The trajectory ends as `infra_error` and is never scored."""


class VerifierError(HandaxeError):
    """A reward could not decide. The trajectory whose id is `trajectory` ends as `verifier_error`, never scored."""

    def __init__(self, message: str = "", *, trajectory: str = ""):
        super().__init__(message)
        self.trajectory = trajectory
