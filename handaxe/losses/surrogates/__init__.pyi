from .clip import clip as clip
from .dual_clip import dual_clip as dual_clip
from .reinforce import reinforce as reinforce
from .truncated import truncated as truncated
from .unclipped import unclipped as unclipped
