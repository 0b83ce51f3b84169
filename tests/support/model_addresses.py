"""How an executor's models reach a scripted server."""

from toolmesh_executor.models.endpoints import Endpoint, Endpoints
from toolmesh_scripted_model.server import ScriptedModel

__all__ = ["KEY", "endpoint"]

KEY = "sk-zebra-crossing"


def endpoint(server: ScriptedModel, dialect: str) -> Endpoint:
    """Return the server's model `small` in a dialect."""
    environment = {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": server.openai_url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
    }
    return Endpoints({}, environment).of(f"{dialect}/small")
