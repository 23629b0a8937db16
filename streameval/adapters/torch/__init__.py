"""torch.distributed: what the ranks have counted, merged on each of them."""

from streameval.errors import DependencyError

try:
    import torch.distributed  # noqa: F401
except ImportError as error:
    raise DependencyError(
        "streameval.adapters.torch needs torch, which is not installed; pip install 'streameval[torch]'"
    ) from error

from streameval.adapters.torch.syncing import sync

__all__ = ["sync"]
