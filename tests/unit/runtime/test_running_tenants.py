"""Running calls are counted by tenant, and forgotten when they end."""

from toolmesh_runtime.running_tenants import RunningTenants


def test_tenant_is_full_at_its_cap_and_others_are_not() -> None:
    """The cap is each tenant's own; a call that ends makes room."""
    tenants = RunningTenants(2)
    for tenant in ("a", "b", "a"):
        assert not tenants.full(tenant)
        tenants.add(tenant)
    assert tenants.full("a")
    assert not tenants.full("b")
    tenants.remove("a")
    assert not tenants.full("a")


def test_without_a_cap_nobody_is_full() -> None:
    """All slots may go to one tenant where nobody else wants them."""
    tenants = RunningTenants()
    tenants.add("a")
    tenants.add("a")
    assert not tenants.full("a")
