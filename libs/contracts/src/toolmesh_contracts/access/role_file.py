"""The file of roles: what each grants, and which others it includes."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator

from toolmesh_contracts.access.authorization import Role
from toolmesh_contracts.access.grants import GrantText
from toolmesh_contracts.config_fields import ConfigModel
from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem, nearest
from toolmesh_contracts.document import Document
from toolmesh_contracts.model_loading import load_model

__all__ = ["RoleDefinition", "RoleFile", "RoleName", "load_roles", "undefined_role"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _role_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("a role's name is 1 to 64 letters, digits, `_`, `.` or `-`, starting with a letter or digit")
    return text


RoleName = Annotated[str, AfterValidator(_role_name)]
"""A role's name."""


class RoleDefinition(ConfigModel):
    """One role."""

    description: str = ""
    """For people."""
    scopes: tuple[GrantText, ...] = ()
    """What it grants; `*` stands for any characters of one segment."""
    inherits: tuple[RoleName, ...] = ()
    """Roles whose scopes it has too."""


class RoleFile(ConfigModel):
    """The whole file."""

    roles: dict[RoleName, RoleDefinition]
    """The roles by name."""


def load_roles(path: Path) -> dict[str, Role]:
    """Load the file of roles.

    Raises:
        ConfigError: with every problem: malformed scopes, roles that inherit from an undefined one or from themselves.
    """
    loaded = load_model(path, RoleFile, None)
    definitions, document = loaded.model.roles, loaded.document
    problems = [*_undefined(definitions, document), *_cycles(definitions, document)]
    if problems:
        raise ConfigError(problems)
    return {
        name: Role(name=name, scopes=definition.scopes, inherits=definition.inherits)
        for name, definition in definitions.items()
    }


def undefined_role(document: Document, place: ConfigPath, name: str, roles: Mapping[str, object]) -> Problem:
    """Return that the role `name` at `place` is defined nowhere."""
    known = ", ".join(sorted(roles)) or "none is defined"
    return document.problem(
        place, f"the role {name!r} is not defined", allowed=known, near=nearest(name, sorted(roles))
    )


def _undefined(definitions: Mapping[str, RoleDefinition], document: Document) -> Iterator[Problem]:
    for name, definition in definitions.items():
        for position, other in enumerate(definition.inherits):
            if other not in definitions:
                yield undefined_role(document, ("roles", name, "inherits", position), other, definitions)


def _cycles(definitions: Mapping[str, RoleDefinition], document: Document) -> Iterator[Problem]:
    """Yield each cycle once, told at the role of it that stands first in the file."""
    finished: set[str] = set()
    for start in definitions:
        trail: list[str] = []
        pending = [(start, iter(definitions[start].inherits))] if start not in finished else []
        trail += [start] if pending else []
        while pending:
            name, others = pending[-1]
            other = next((one for one in others if one in definitions and one not in finished), None)
            if other is None:
                finished.add(name)
                pending.pop()
                trail.pop()
            elif other in trail:
                cycle = " -> ".join([*trail[trail.index(other) :], other])
                yield document.problem(("roles", other, "inherits"), f"roles inherit from themselves: {cycle}")
            else:
                trail.append(other)
                pending.append((other, iter(definitions[other].inherits)))
