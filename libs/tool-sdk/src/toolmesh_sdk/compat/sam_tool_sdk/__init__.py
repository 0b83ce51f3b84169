"""The SDK under the name that published tools import; only used where the published package is not installed."""

import toolmesh_sdk
from toolmesh_sdk import __all__ as __all__
from toolmesh_sdk import __version__ as __version__


def __getattr__(name: str) -> object:
    """Load a public name from toolmesh_sdk, once."""
    value: object = getattr(toolmesh_sdk, name)
    globals()[name] = value
    return value
