from .clip_cov import clip_cov as clip_cov
from .kl_cov import kl_cov as kl_cov
