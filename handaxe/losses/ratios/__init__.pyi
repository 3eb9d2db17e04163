from .sequence import sequence as sequence
from .sequence_token import sequence_token as sequence_token
from .token import token as token
from .turn import turn as turn
from .unit_ratio import unit_ratio as unit_ratio
