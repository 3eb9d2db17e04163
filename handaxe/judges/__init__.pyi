from .ensemble import ensemble as ensemble
from .exact_steps import exact_steps as exact_steps
from .image_pairs import image_pairs as image_pairs
from .implicit_prm import implicit_prm as implicit_prm
from .noisy import noisy as noisy
from .reward_model import reward_model as reward_model
from .step_status import step_status as step_status
from .viewed import viewed as viewed
