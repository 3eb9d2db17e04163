from .by_unit import by_unit as by_unit
from .sequence import sequence as sequence
from .sequence_token import sequence_token as sequence_token
from .token import token as token
from .turn import turn as turn
