"""The table of profile numbers, and the five overrides of a manifest."""

import resource

import pytest

from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.limits import MEBIBYTE, ResourceLimits, Rlimit, affordable
from toolmesh_sandbox.policy import Network, SystemView
from toolmesh_sandbox.profiles import PROFILES, profile


def test_profiles_have_the_published_numbers() -> None:
    """CPU, file size, files, processes, stack and nice of each profile."""
    seen = {
        name: (
            limits.cpu_s,
            limits.file_bytes // MEBIBYTE,
            limits.open_files,
            limits.processes,
            limits.stack_bytes // MEBIBYTE,
            limits.nice,
        )
        for name, limits in ((name, policy.limits) for name, policy in PROFILES.items())
    }
    assert seen == {
        "declared": (120, 64, 4096, 128, 8, 15),
        "restrictive": (60, 64, 128, 32, 8, 15),
        "standard": (300, 256, 512, 128, 16, 10),
        "permissive": (600, 1024, 1024, 512, 32, 5),
    }


def test_profiles_differ_in_network_and_view() -> None:
    """Two have no network, and only permissive widens the view."""
    assert {name: (policy.network, policy.system) for name, policy in PROFILES.items()} == {
        "declared": (Network.NONE, SystemView.SYSTEM),
        "restrictive": (Network.NONE, SystemView.SYSTEM),
        "standard": (Network.HOST, SystemView.SYSTEM),
        "permissive": (Network.HOST, SystemView.HOST),
    }


def test_an_unknown_profile_is_refused_with_the_known_names() -> None:
    """The message lists what may be written."""
    with pytest.raises(PolicyInvalidError, match=r"no sandbox profile 'lax' .*restrictive, standard, permissive"):
        profile("lax")


def test_overrides_replace_only_what_they_name() -> None:
    """Five manifest keys in their own units; the rest stays the profile's."""
    policy = profile("standard").with_limits(
        ResourceLimits(max_cpu_seconds=7, max_file_size_mb=3, max_open_files=44, max_processes=5, max_stack_size_mb=2)
    )
    limits = policy.limits
    assert (limits.cpu_s, limits.file_bytes, limits.open_files) == (7, 3 * MEBIBYTE, 44)
    assert (limits.processes, limits.stack_bytes, limits.nice) == (5, 2 * MEBIBYTE, 10)
    assert profile("standard").with_limits(ResourceLimits()) == profile("standard")


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "9"])
def test_an_override_that_is_no_positive_whole_number_is_refused(value: int) -> None:
    """The message names the key."""
    with pytest.raises(PolicyInvalidError, match=r"resource_limits\.max_open_files"):
        ResourceLimits(max_open_files=value)


def test_every_hard_limit_is_finite_and_cpu_leaves_a_second_to_react() -> None:
    """Nothing can be raised again; a core limit of 1 also stops piped core handlers."""
    limits = profile("standard").limits.rlimits()
    assert all(0 <= limit.soft <= limit.hard != resource.RLIM_INFINITY for limit in limits)
    assert Rlimit("CPU", 300, 301) in limits
    assert Rlimit("CORE", 1, 1) in limits
    assert "AS" not in {limit.name for limit in limits}


def test_limits_above_our_own_hard_limits_are_lowered() -> None:
    """What this process may not have it can't give."""
    ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert affordable((Rlimit("NOFILE", ceiling + 1, ceiling + 1),)) == (Rlimit("NOFILE", ceiling, ceiling),)
    assert affordable((Rlimit("NOFILE", 5, 5),)) == (Rlimit("NOFILE", 5, 5),)
