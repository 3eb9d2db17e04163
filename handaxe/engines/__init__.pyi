from .cluster.engine import ClusterEngine as ClusterEngine
from .local.engine import LocalEngine as LocalEngine
from .openai.engine import OpenAICompatible as OpenAICompatible
from .vllm.servers import VllmServers as VllmServers
