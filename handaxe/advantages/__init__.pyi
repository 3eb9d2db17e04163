from .balance_roles import balance_roles as balance_roles
from .batch_norm import batch_norm as batch_norm
from .batch_whiten import batch_whiten as batch_whiten
from .mask_shared_prefix import mask_shared_prefix as mask_shared_prefix
