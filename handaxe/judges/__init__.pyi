from .exact_steps import exact_steps as exact_steps
from .implicit_prm import implicit_prm as implicit_prm
from .noisy import noisy as noisy
from .step_status import step_status as step_status
from .trained_verdict import trained_verdict as trained_verdict
from .verdict_token import verdict_token as verdict_token
