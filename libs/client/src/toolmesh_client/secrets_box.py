"""Secret settings of a call, sealed to its pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolmesh_client.arguments import encode_json
from toolmesh_client.errors import InvalidArgumentsError, InvalidCallError, SecretNotSealableError
from toolmesh_contracts.sealed_config import sealing_context
from toolmesh_identity.errors import SealError
from toolmesh_identity.keys import SealingPublicKey
from toolmesh_identity.sealing import seal

__all__ = ["Secret", "SecretPath", "seal_secrets"]

SecretPath: TypeAlias = tuple[str | int, ...]
"""Where a value belongs in tool_config: keys and list indexes, outermost first."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value for tool_config that never travels in clear."""

    path: SecretPath
    value: object = field(repr=False)


def seal_secrets(
    secrets: Sequence[Secret], keys: Mapping[str, SealingPublicKey], *, namespace: str, pool: str, invocation: str
) -> str | None:
    """Return a box with the JSON list of [path, value], or None when there are no secrets.

    Raises:
        SecretNotSealableError: no key of the pool is known.
        InvalidCallError: a value is no JSON, or all together are too large. The message holds no value.
    """
    if not secrets:
        return None
    key = keys.get(pool)
    if key is None:
        raise SecretNotSealableError(
            f"pool {pool!r} has no sealing key here, so {len(secrets)} secret settings can't be sent to it",
            hint="give the pool's public key in sealing_keys",
        )
    try:
        plaintext = encode_json([[list(secret.path), secret.value] for secret in secrets], "a secret")
    except InvalidArgumentsError:
        names = ", ".join(".".join(map(str, secret.path)) for secret in secrets)
        # Without the cause: a JSON error may quote the value.
        raise InvalidCallError(f"one of the secret settings {names} can't be written as JSON") from None
    try:
        return seal(plaintext, key, sealing_context(namespace, pool, invocation))
    except SealError as error:
        raise InvalidCallError(f"the secret settings can't be sealed: {error.message}") from error
