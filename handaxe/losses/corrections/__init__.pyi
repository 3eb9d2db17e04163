from .geometric_veto import geometric_veto as geometric_veto
from .mis import mis as mis
from .stacked import stacked as stacked
from .tis import tis as tis
