"""Answers what a tool's schema is under a given configuration."""

import json
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from toolmesh_broker.ports import Message
from toolmesh_contracts.envelopes.catalog import DescribeReply, DescribeRequest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.sealed_config import merge_config, sealing_context
from toolmesh_contracts.wire import decode, encode
from toolmesh_identity.errors import SealError
from toolmesh_identity.sealing import open_sealed
from toolmesh_runtime.admission import Verifier
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.process.confinement import Confinement
from toolmesh_runtime.process.secret_hiding import worth_hiding
from toolmesh_runtime.toolsets.discovery import Discovery
from toolmesh_runtime.toolsets.schema_probe import describe_program
from toolmesh_sandbox.errors import SandboxError
from toolmesh_telemetry.redaction import Redactor

__all__ = ["Describer"]

_LIMIT_S: Final = 4.0
"""Below the 5 s that the asker waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Describer:
    """Serves `tm.<ns>.describe.<pool>.<tool>`."""

    worker: str
    verifier: Verifier
    discovery: Discovery
    confinement: Confinement
    redactor: Redactor

    async def answer(self, message: Message) -> None:
        """Answer one request; an error is an answer too."""
        try:
            reply = await self._describe(decode(DescribeRequest, message.body, message.headers.get(SCHEMA, "")))
        except ToolmeshError as error:
            reply = DescribeReply(code=error.code, message=error.message)
        except SealError as error:
            reply = DescribeReply(code=ErrorCode.AUTHENTICATION_FAILED, message=error.message)
        except SandboxError as error:
            reply = DescribeReply(code=ErrorCode.SANDBOX_FAILED, message=error.message)
        except (ValueError, RecursionError) as error:
            reply = DescribeReply(code=ErrorCode.INVALID_REQUEST, message=f"tool_config: {error}")
        await message.respond(encode(reply))

    async def _describe(self, request: DescribeRequest) -> DescribeReply:
        tool = self.discovery.inventory.tools.get(request.tool)
        if tool is None:
            message = f"this worker has no tool {request.tool!r}"
            raise ToolmeshError(message, code=ErrorCode.TOOL_NOT_AVAILABLE)
        if isinstance(tool, DeclaredTool):
            return DescribeReply(entry=tool.entry(self.verifier.pool, self.worker))  # its file says it all
        config = json.loads(bytes(request.tool_config)) if request.tool_config is not msgspec.UNSET else {}
        secrets: tuple[str, ...] = ()
        if request.sealed_config is not None:
            context = sealing_context(self.verifier.namespace, self.verifier.pool, request.request)
            box = open_sealed(request.sealed_config, self.verifier.sealing_keys, context)
            config, secrets = merge_config(config, json.loads(box))
            secrets = worth_hiding(secrets, config, tool.description.secret_keys)
        with self.redactor.hiding(secrets):
            answer = await describe_program(self.confinement, tool.program, limit_s=_LIMIT_S, tool_config=config)
            said = answer.tools.get(tool.own_name) or next(iter(answer.tools.values()))
            entry = replace(tool, description=said).entry(self.verifier.pool, self.worker)
            clean = msgspec.structs.replace(
                entry,
                description=self.redactor.exact(entry.description),
                instructions=self.redactor.exact(entry.instructions),
            )
        return DescribeReply(entry=clean)
