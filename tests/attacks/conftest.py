"""The marker that binds a test to a row of kind `host`."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make `@pytest.mark.attack("F31")` known."""
    config.addinivalue_line("markers", "attack(id): the test that a row of kind `host` in an attack file is bound to")
