"""The published module `config_schema`, from toolmesh_sdk."""

from toolmesh_sdk.config_schema import ConfigSchemaField as ConfigSchemaField
from toolmesh_sdk.config_schema import with_config_schema as with_config_schema
