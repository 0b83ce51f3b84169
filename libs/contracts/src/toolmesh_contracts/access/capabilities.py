"""Answers which of some scopes an identity holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolmesh_contracts.access.authorization import AuthorizationType
from toolmesh_contracts.access.grants import check_grant
from toolmesh_contracts.access.resolution import Access
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.scopes import ScopeSyntaxError

__all__ = ["Capabilities", "capabilities"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The answer.

    Attributes:
        type: How it was decided: with `none`, everything is held and means nothing.
        held: The scopes asked for that are held.
        missing: The others.
    """

    type: AuthorizationType
    held: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def all_held(self) -> bool:
        """Whether something was asked for, and all of it is held."""
        return bool(self.held) and not self.missing


def capabilities(access: Access, asked: Sequence[str]) -> Capabilities:
    """Tell which of the scopes `asked` for are held.

    Raises:
        ToolmeshError: nothing was asked for, which is no reason to say yes; or one is no scope.
    """
    if not asked:
        raise ToolmeshError(
            "no scope is asked for", code=ErrorCode.INVALID_REQUEST, hint="give at least one, such as agent:NAME:invoke"
        )
    for scope in asked:
        try:
            check_grant(scope)
        except ScopeSyntaxError as error:
            raise ToolmeshError(
                f"{scope[:60]!r}: {error}", code=ErrorCode.INVALID_REQUEST, hint="for example agent:NAME:invoke"
            ) from error
    asked = tuple(dict.fromkeys(asked))
    missing = access.held.missing(asked)
    held = tuple(scope for scope in asked if scope not in missing)
    return Capabilities(type=access.type, held=held, missing=missing)
