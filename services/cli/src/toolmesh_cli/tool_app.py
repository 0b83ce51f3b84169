"""The commands `toolmesh tool ...`: what a tool's author uses. They need no server."""

from pathlib import Path
from typing import Annotated

import typer

from toolmesh_cli.command_running import run_command
from toolmesh_cli.completion import one_of
from toolmesh_cli.options import (
    AllowUnsandboxed,
    Arguments,
    ArgumentsFile,
    ArtifactFiles,
    AsJson,
    SaveArtifacts,
    help_if_bare,
)

__all__ = ["tool_app"]

_Config = Annotated[
    str | None,
    typer.Option(help="The operator's settings (tool_config): a JSON object, or a file.", metavar="JSON|FILE"),
]
_Place = Annotated[
    Path,
    typer.Argument(help="A program, a manifest, a folder with a manifest, or an agent folder.", metavar="FILE|FOLDER"),
]
_Tool = Annotated[str | None, typer.Option("--tool", help="Which tool, where there are several.", metavar="NAME")]
_Profile = Annotated[
    str | None,
    typer.Option(
        help="Sandbox profile: standard, restrictive or permissive. Default: the manifest's.",
        metavar="NAME",
        autocompletion=one_of("standard", "restrictive", "permissive"),
    ),
]

tool_app = typer.Typer(
    help="Write, try and check tools; no server is needed.",
    epilog="""\b
Example:
  toolmesh tool init greet
  toolmesh tool run greet --args '{"name": "Ada"}'""",
    rich_markup_mode=None,
    no_args_is_help=False,
)


@tool_app.callback(invoke_without_command=True)
def _without_command(context: typer.Context) -> None:
    help_if_bare(context)


@tool_app.command(
    epilog="""\b
Examples:
  toolmesh tool init greet
  toolmesh tool init tools/text --style provider
  toolmesh tool init agents/greeter --style declared
  toolmesh tool init checksum --lang go"""
)
def init(
    name: Annotated[
        Path, typer.Argument(help="The tool's name, or a new folder whose last part is that.", metavar="NAME")
    ],
    style: Annotated[
        str,
        typer.Option(
            help="function (one tool), provider (several tools that share code), or declared (a command).",
            metavar="STYLE",
            autocompletion=one_of("function", "provider", "declared"),
        ),
    ] = "function",
    lang: Annotated[
        str, typer.Option(help="python or go.", metavar="LANGUAGE", autocompletion=one_of("python", "go"))
    ] = "python",
) -> int:
    """Make a folder with a manifest and a tool that works at once."""
    from toolmesh_cli.tool_init import run_init

    return run_init(name, style, lang)


@tool_app.command(
    epilog="""\b
Examples:
  toolmesh tool run greet --args '{"name": "Ada"}'
  toolmesh tool run examples/weather --tool outlook --args '{"city": "Oslo"}' --config '{"units": "fahrenheit"}'
  toolmesh tool run resize.py --artifact image=photo.png --save-artifacts out/

Statuses go to stderr, the result to stdout. Exit codes are those of `toolmesh call`."""
)
def run(
    place: _Place,
    tool: _Tool = None,
    args: Arguments = None,
    args_file: ArgumentsFile = None,
    config: _Config = None,
    artifact: ArtifactFiles = None,
    profile: _Profile = None,
    as_json: AsJson = False,
    save_artifacts: SaveArtifacts = None,
    allow_unsandboxed: AllowUnsandboxed = False,
) -> int:
    """Run a tool once, in the sandbox that a worker would give it."""
    from toolmesh_cli.tool_run import ToolRunOptions, run_tool_once

    options = ToolRunOptions(
        place=place,
        tool=tool,
        arguments=args,
        arguments_file=args_file,
        config=config,
        artifacts=tuple(artifact or ()),
        profile=profile,
        as_json=as_json,
        save_artifacts=save_artifacts,
        sandboxed=not allow_unsandboxed,
    )
    return run_command(run_tool_once(options))


@tool_app.command(
    epilog="\b\nExamples:\n  toolmesh tool validate greet\n  toolmesh tool validate tools/ examples/weather"
)
def validate(
    places: Annotated[
        list[Path],
        typer.Argument(
            help="Toolset folders, agent folders, folders of them, manifests or programs.",
            metavar="FOLDER",
            show_default=False,
        ),
    ],
    allow_unsandboxed: AllowUnsandboxed = False,
) -> int:
    """Check manifests, programs and schemas, and say all that is wrong."""
    from toolmesh_cli.tool_validate import run_validate

    return run_command(run_validate(places, sandboxed=not allow_unsandboxed))


@tool_app.command(epilog="\b\nExample:\n  toolmesh tool schema examples/weather --tool outlook")
def schema(
    place: _Place,
    tool: _Tool = None,
    config: _Config = None,
    profile: _Profile = None,
    allow_unsandboxed: AllowUnsandboxed = False,
) -> int:
    """Print what the catalog would say of the tools, as JSON."""
    from toolmesh_cli.tool_schema import run_schema

    return run_command(run_schema(place, tool, config, profile, sandboxed=not allow_unsandboxed))
