"""The published module `artifact_types`, from toolmesh_sdk."""

from toolmesh_sdk.artifacts import Artifact as Artifact
from toolmesh_sdk.artifacts import ArtifactTypeInfo as ArtifactTypeInfo
from toolmesh_sdk.artifacts import get_artifact_info as get_artifact_info
from toolmesh_sdk.artifacts import is_artifact_type as is_artifact_type
