"""See family.py."""

# mypy: ignore-errors
from family import Classy

from toolmesh_sdk import dynamic_tool_cli

cli = dynamic_tool_cli(Classy)

if __name__ == "__main__":
    cli()
