"""The arguments file has every field that SDKs of either language read."""

import json
from pathlib import PurePosixPath

from toolmesh_contracts.envelopes.values import Caller, VolumeMount
from toolmesh_runtime.process.runner_args import CallFolder, InputArtifact, RunnerArgs


def test_arguments_stay_raw_and_all_fields_are_there() -> None:
    """The arguments' bytes are embedded unparsed; no container is null; paths are the tool's."""
    data = RunnerArgs(
        folder=CallFolder(PurePosixPath("/work")),
        tool_name="get_forecast",
        arguments=b'{"city":  "\xc3\x98rsta"}',
        tool_config={"units": "celsius"},
        caller=Caller(user="ada", agent="weather", session="s", task="t"),
        invocation="i-1",
        attempt=2,
        deadline_ms=5,
        artifacts={"doc": InputArtifact(PurePosixPath("/work/input/0/a.txt"), "a.txt", "text/plain", 3, "d")},
        volume_mounts=(VolumeMount(volume_id="v", mount_path="/mnt/v"),),
        user_profile={"id": "ada"},
    ).to_json()
    assert b'"args": {"city":  "\xc3\x98rsta"}' in data
    document = json.loads(data)
    assert document["args"] == {"city": "Ørsta"}
    assert document["artifact_paths"] == {"doc": "/work/input/0/a.txt"}
    assert document["artifact_metadata"]["doc"] == {
        "filename": "a.txt",
        "mime_type": "text/plain",
        "version": 3,
        "local_path": "/work/input/0/a.txt",
        "description": "d",
    }
    assert document["volume_mounts"] == [{"volume_id": "v", "mount_path": "/mnt/v", "read_only": True}]
    assert json.loads(document["a2a_user_config"]) == {"user_profile": {"id": "ada"}}
    expected = {
        "tool_name": "get_forecast",
        "tool_config": {"units": "celsius"},
        "status_pipe": "/work/status.pipe",
        "result_file": "/work/result.json",
        "output_dir": "/work/output",
        "ipc_socket": "",
        "user_id": "ada",
        "session_id": "s",
        "app_name": "weather",
        "task_id": "t",
        "tool_oauth_token": "",
        "invocation_id": "i-1",
        "attempt": 2,
        "deadline_ms": 5,
    }
    assert {key: document[key] for key in expected} == expected
    others = {"args", "artifact_paths", "artifact_metadata", "volume_mounts", "a2a_user_config", "tool_auth_headers"}
    assert set(document) == {*expected, *others}
