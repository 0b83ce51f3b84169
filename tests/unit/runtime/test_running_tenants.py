"""Running calls are counted by tenant, and forgotten when they end."""

import pytest

from toolmesh_runtime.running_tenants import RunningTenants


def test_tenant_is_full_at_its_cap_and_others_are_not() -> None:
    """The cap is each tenant's own; a call that ends makes room."""
    tenants = RunningTenants(2)
    with tenants.running("a"), tenants.running("b"):
        assert not tenants.full("a")
        with tenants.running("a"):
            assert tenants.full("a")
            assert not tenants.full("b")
        assert not tenants.full("a")


def test_call_that_fails_makes_room_too() -> None:
    """Whatever ends the block."""
    tenants = RunningTenants(1)
    with pytest.raises(ValueError, match="x"), tenants.running("a"):
        raise ValueError("x")
    assert not tenants.full("a")


def test_without_a_cap_nobody_is_full() -> None:
    """All slots may go to one tenant where nobody else wants them."""
    tenants = RunningTenants()
    with tenants.running("a"), tenants.running("a"):
        assert not tenants.full("a")
