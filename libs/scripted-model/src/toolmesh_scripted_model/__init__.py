"""A model server for tests: the OpenAI-compatible and the Anthropic protocol over a loopback socket, by script."""

from toolmesh_scripted_model.behaviour import Behaviour, Question, Said, Turn
from toolmesh_scripted_model.server import ScriptedModel, scripted_model

__all__ = ["Behaviour", "Question", "Said", "ScriptedModel", "Turn", "scripted_model"]
