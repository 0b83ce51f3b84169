"""The executor's configuration file: its example loads, and mistakes are named."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.executor_config import load_executor_config

EXAMPLE = Path(__file__).parents[3] / "schemas" / "examples" / "executor-config.v1.yaml"


def test_the_example_loads() -> None:
    """What `schemas/` shows is a file that works."""
    config = load_executor_config(EXAMPLE, {}).model
    assert (config.executor_id, config.health.port, config.keys.issuer_name) == ("executor-1", 8090, "example-issuer")
    assert config.keys.sealing == {"default": "keys/pool-default.public.json"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("executor_id: executor-1", "executor_id: 'a b'"), "this name is not allowed"),
        (("executor_id: executor-1", ""), "executor_id: this key is required"),
        (("  signing:", "  sining:"), "did you mean 'signing'"),
        (("    default:", "    a.b:"), "pool"),
        (("log_level: info", "log_level: loud"), "debug, info, warning, error"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """Key, line and what is allowed."""
    file = tmp_path / "executor.yaml"
    file.write_text(EXAMPLE.read_text().replace(*change))
    with pytest.raises(ConfigError, match=message):
        load_executor_config(file, {})
