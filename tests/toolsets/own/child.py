"""See family.py."""

# mypy: ignore-errors
from family import Child

from toolmesh_sdk import provider_cli

cli = provider_cli(Child)

if __name__ == "__main__":
    cli()
