"""Artifacts that come with a call, and artifacts that a tool stores."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.tool_process import ToolProcess

from toolmesh_sdk import Artifact, ToolContext
from toolmesh_sdk.output_folder import OutputFolder, safe_name

READER = """
    from toolmesh_sdk import Artifact, ToolContext, tool_cli

    async def read(doc: Artifact, ctx: ToolContext, more: list[Artifact] | None = None):
        "Read documents."
        everything = [doc, *(more or [])]
        return {
            "texts": [entry.as_text() for entry in everything],
            "versions": [entry.version for entry in everything],
            "metadata": doc.metadata,
            "names": await ctx.list_artifacts(),
            "latest": await ctx.load_artifact("report.txt", as_text=True),
            "first": (await ctx.load_artifact("report.txt", version=1)).decode(),
            "about": await ctx.load_artifact_metadata("report.txt", "2"),
            "there": [await ctx.artifact_exists("report.txt"), await ctx.artifact_exists("none")],
            "by_param": [ctx.load_artifact_by_param("more[0]").decode(), ctx.load_artifact_by_param("none")],
            "read": ctx.read_artifact("report.txt").as_bytes().decode(),
        }

    tool_cli(read)()
"""


def delivered(folder: Path, name: str, text: str, version: int) -> dict[str, Any]:
    """Lay a file and return its metadata as a host writes it."""
    path = folder / f"{version}-{name}"
    path.write_text(text)
    return {"filename": name, "mime_type": "text/plain", "version": version, "local_path": str(path)}


def test_versions_of_one_file_are_kept_apart(tool: ToolProcess) -> None:
    """The published SDK gave the bytes of whichever came last, under any version."""
    tool.write(READER)
    metadata = {
        "doc": {**delivered(tool.folder, "report.txt", "new", 2), "description": "d"},
        "more[0]": delivered(tool.folder, "report.txt", "old", 1),
    }
    outcome = tool.call({"doc": "report.txt", "more": ["report.txt"]}, artifact_metadata=metadata)
    assert outcome.result == {
        "texts": ["new", "old"],
        "versions": [2, 1],
        "metadata": {"filename": "report.txt", "mime_type": "text/plain", "version": 2, "description": "d"},
        "names": ["report.txt"],
        "latest": "new",
        "first": "old",
        "about": {"mime_type": "text/plain", "size_bytes": 3, "version": 2},
        "there": [True, False],
        "by_param": ["old", None],
        "read": "new",
    }


def test_a_missing_artifact_is_an_argument_error_before_the_tool_runs(tool: ToolProcess) -> None:
    """The published SDK passed the file's name in its place, or a silently shorter list."""
    tool.write(READER)
    metadata = {"doc": delivered(tool.folder, "report.txt", "x", 1)}
    outcome = tool.call({"doc": "report.txt", "more": ["gone.txt"]}, artifact_metadata=metadata)
    assert "more[0]: artifact 'gone.txt' did not come with this call (delivered: report.txt)" in outcome.error
    (tool.folder / "1-report.txt").unlink()
    assert (
        "doc: artifact 'report.txt' is not in the input folder"
        in tool.call({"doc": "report.txt"}, artifact_metadata=metadata).error
    )


def test_a_class_tool_gets_loaded_artifacts_checked_arguments_and_its_context(tool: ToolProcess) -> None:
    """As it declares them in its own properties; its schema is checked, quoted numbers become numbers."""
    tool.write(
        """
        from toolmesh_sdk import DynamicTool, dynamic_tool_cli

        class Words(DynamicTool):
            tool_name = "words"
            tool_description = "Count words."
            artifact_args = ["doc"]
            ctx_facade_param_name = "context"
            instructions = "Short texts only."
            parameters_schema = {
                "type": "object",
                "properties": {"doc": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}},
                "required": ["doc"],
            }

            def __init__(self):
                self.ready = False

            def init(self, tool_config):
                self.ready = tool_config["x"]

            async def _run_async_impl(self, args, tool_context=None, credential=None):
                assert args["context"] is tool_context
                return [args["doc"].as_text(), args.get("n"), args.get("o"), self.ready, self.tool_config, credential]

        dynamic_tool_cli(Words)()
        """
    )
    assert tool.schema()["words"]["artifact_params"] == {"doc": {"is_list": False, "is_optional": False}}
    assert tool.schema()["words"]["instructions"] == "Short texts only."
    metadata = {"doc": delivered(tool.folder, "d", "two words", 1)}
    fields = {"artifact_metadata": metadata, "tool_config": {"x": 1}, "tool_oauth_token": "tok"}
    outcome = tool.call({"doc": "d", "n": "5", "o": '{"k": 1}'}, **fields)
    assert outcome.result["text"] == '["two words", 5, {"k": 1}, 1, {"x": 1}, "tok"]'
    wrong = tool.call({"n": "five", "o": "text"}, **fields).error
    assert wrong.endswith("doc is missing; n must be a whole number, got 'five'; o must be an object, got 'text'")


def test_saved_artifacts_keep_their_type_and_description(tool: ToolProcess) -> None:
    """Sub-folders are made; the same name again replaces; a failing call keeps what it stored."""
    tool.write(
        """
        from toolmesh_sdk import ToolContext, tool_cli

        def save(ctx: ToolContext):
            "Save files."
            ctx.save_artifact("a/b.bin", b"old")
            ctx.save_artifact("a/b.bin", b"new", "x/y", description="d", metadata={"k": {1, 2}})
            path = ctx.save_artifact_text("t.txt", "å", "latin-1")
            raise RuntimeError(" ".join(ctx.list_output_artifacts()) + path[-5:])

        tool_cli(save)()
        """
    )
    outcome = tool.call()
    assert "t.txtt.txt" in outcome.error
    assert (outcome.output / "a/b.bin").read_bytes() == b"new"
    assert (outcome.output / "t.txt").read_bytes() == b"\xe5"
    assert outcome.index == {
        "a/b.bin": {"mime_type": "x/y", "description": "d", "metadata": {"k": [1, 2]}, "disposition": "artifact"},
        "t.txt": {"mime_type": "text/plain", "disposition": "artifact"},
    }


@pytest.mark.parametrize(
    "name", ["", " ", "..", "a/../b", "/abs", "\\\\x", "a\0b", "dir/", ".", ".toolmesh-artifacts.json"]
)
def test_names_that_leave_the_output_folder_are_refused(name: str) -> None:
    """A tool could otherwise overwrite its own result."""
    with pytest.raises(ValueError, match=r"file name|leaves the output folder|reserved name"):
        safe_name(name)


def test_the_context_can_be_built_by_hand_for_an_authors_own_tests(tmp_path: Path) -> None:
    """With the keywords of the published class."""
    (tmp_path / "f").write_text("x")
    context = ToolContext(
        status_pipe_path="",
        tool_config={},
        artifacts={"f": {"local_path": str(tmp_path / "f"), "mime_type": "text/plain", "version": 1}},
        output_dir=str(tmp_path / "out"),
        user_id="u",
        session_id="s",
    )
    assert context.read_artifact("f") == Artifact(
        b"x", "f", 1, "text/plain", {"filename": "f", "mime_type": "text/plain", "version": 1}
    )
    assert context.list_output_artifacts() == []
    with pytest.raises(FileNotFoundError, match=r"version 3 of 'f' did not come with this call \(delivered: 1\)"):
        context.read_artifact("f", 3)


def test_numbered_names_do_not_collide_with_what_is_there(tmp_path: Path) -> None:
    """A file that the tool wrote itself counts too."""
    folder = OutputFolder(str(tmp_path))
    (tmp_path / "a.txt").write_text("by hand")
    assert Path(folder.save("a.txt", b"1", replace=False)).name == "a-2.txt"
    assert Path(folder.save("a.txt", b"2", replace=False)).name == "a-3.txt"
    assert folder.names() == ["a-2.txt", "a-3.txt", "a.txt"]
