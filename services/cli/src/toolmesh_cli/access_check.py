"""`toolmesh access check`: whether a user has scopes, for scripts and people."""

from collections.abc import Sequence
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.call_output import failures_as_json, print_json
from toolmesh_cli.caller_access import mesh_authorization, shown_access
from toolmesh_cli.mesh_authorization import NO_AUTHORIZATION
from toolmesh_cli.mesh_connection import folder_of, running_profile
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.access.authorization import AuthorizationType
from toolmesh_contracts.access.capabilities import capabilities

__all__ = ["run_access_check"]


def run_access_check(
    data_folder: Path | None, user: str, claims: Sequence[str], scopes: Sequence[str], *, as_json: bool
) -> int:
    """Print each scope with the answer; return 0 if the user has all of them, else 1.

    Raises:
        ToolmeshError: no mesh runs here, it has no authorization, or something asked for is no user, claim or scope.
    """
    stdout = Terminal.stdout()
    with failures_as_json(wanted=as_json):
        folder = folder_of(data_folder)
        running_profile(folder)
        access = shown_access(mesh_authorization(folder), user, claims)
        answer = capabilities(access, scopes)
        if as_json:
            held, missing = list(answer.held), list(answer.missing)
            document = {"user": access.subject, "authorization": answer.type, "held": held, "missing": missing}
            print_json(document, stdout)
        else:
            for scope in dict.fromkeys(scopes):
                said = stdout.paint("yes", Colour.GOOD) if scope in answer.held else stdout.paint("no ", Colour.BAD)
                stdout.line(f"{said}  {visible(scope)}")
        if answer.type is AuthorizationType.NONE:
            Terminal.stderr().warning(NO_AUTHORIZATION)
    return exit_codes.OK if answer.all_held else exit_codes.FAILED
