"""What a person or a model reads of a result."""

from toolmesh_client import CallResult
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.values import ArtifactRef, PayloadRef


def test_stored_file_is_shown_with_what_its_tool_said_of_it() -> None:
    """Name, type, size, version, description and preview; what is absent leaves no gap."""
    payload = PayloadRef(bucket="b", object="o", size=9, sha256="0" * 64)

    def file(**more: object) -> ArtifactRef:
        fields = {
            "filename": "a.csv",
            "mime_type": "text/csv",
            "size": 9,
            "sha256": "0" * 64,
            "payload": payload,
            **more,
        }
        return ArtifactRef(**fields)  # type: ignore[arg-type]

    result = CallResult(
        invocation="i",
        pool="default",
        tool="t",
        outcome=Outcome.OK,
        message="done",
        artifacts=(file(version=2, description="the rates", preview="day,rate"), file()),
    )
    assert result.text() == (
        "done\nartifact a.csv (text/csv, 9 bytes, version 2): the rates\nday,rate\nartifact a.csv (text/csv, 9 bytes)"
    )
