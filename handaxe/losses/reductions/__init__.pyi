from .constant_length import constant_length as constant_length
from .rollout_mean import rollout_mean as rollout_mean
from .rollout_sum import rollout_sum as rollout_sum
from .token_mean import token_mean as token_mean
from .turn_mean import turn_mean as turn_mean
