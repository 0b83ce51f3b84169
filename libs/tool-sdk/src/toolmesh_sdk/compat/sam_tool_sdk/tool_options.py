"""The published module `tool_options`, from toolmesh_sdk."""

from toolmesh_sdk.options import VolumeMount as VolumeMount
from toolmesh_sdk.options import VolumeParam as VolumeParam
from toolmesh_sdk.options import tool_timeout as tool_timeout
from toolmesh_sdk.options import with_dynamic_schema as with_dynamic_schema
from toolmesh_sdk.options import with_volume_params as with_volume_params
