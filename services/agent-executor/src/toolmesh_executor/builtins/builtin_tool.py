"""What a tool of the executor's own is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.schema_validator import SchemaValidator
from toolmesh_executor.loop.toolbox import ToolOutcome

__all__ = ["BuiltinTool", "succeeded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinTool:
    """A tool without a worker.

    Attributes:
        name: As agents' files have it.
        description: What the model is told.
        parameters: JSON Schema of its arguments, an object.
        run: Does it, at once; whatever goes wrong is an outcome.
        is_repeatable: Whether a call of which nobody knows how it ended may be made again.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], ToolOutcome]
    is_repeatable: bool

    def call(self, arguments: bytes) -> ToolOutcome:
        """Check the arguments, a JSON object, and run."""
        try:
            given = json.loads(arguments or b"{}")
            problems = SchemaValidator.of(self.parameters).problems(given)
        except (ValueError, RecursionError) as error:
            problems = [f"the arguments can't be read: {error}"]
        if problems:
            return ToolOutcome.failed(ErrorCode.INVALID_ARGUMENTS, f"{self.name}: {'; '.join(problems)}")
        return self.run(given)


def succeeded(**result: object) -> ToolOutcome:
    """Return a result as the model reads it: JSON, with its status."""
    return ToolOutcome(outcome=Outcome.OK, content=json.dumps({"status": "success", **result}, ensure_ascii=False))
