"""See family.py."""

# mypy: ignore-errors
from family import Base

from toolmesh_sdk import provider_cli

cli = provider_cli(Base)

if __name__ == "__main__":
    cli()
