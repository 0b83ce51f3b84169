"""Every form of a tool under every release of the published SDK: repaired by the launcher, and exactly as it is."""

from pathlib import Path

import pytest
from tests.support.published_forms import answers, surprises
from tests.support.published_sdk import RELEASES

pytestmark = pytest.mark.timeout(240)  # the first run downloads the releases


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:repaired")
def test_repaired_tools_get_all_that_they_ask_for(release: str, tmp_path: Path) -> None:
    """Whatever form the context has, or none, it and tool_config arrive, and no coroutine passes for a result."""
    told = answers(release, tmp_path, strict=False)
    assert surprises(release, told, strict=False) == []
    assert all(answer.schema is not None for answer in told.values())


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:repaired")
def test_repaired_tools_advertise_only_what_models_send(release: str, tmp_path: Path) -> None:
    """No context or tool_config in the schema, `int | None` is an optional integer, and the whole first sentence shows."""
    told = answers(release, tmp_path, strict=False)
    for (tool, name), answer in told.items():
        assert answer.schema is not None
        for described in answer.schema.values():
            sent = set(described["parameters"]["properties"])
            assert sent <= {"x", "docs", "suffix"}, (tool, name, sent)
    (wrapped,) = (told["forms.wrapped_first_line", ""].schema or {}).values()
    assert wrapped["description"] == "Do what takes so many words to say that the first sentence does not fit a line."
    assert wrapped["parameters"] == {
        "type": "object",
        "properties": {"x": {"type": "integer", "description": "A number, or nothing."}},
    }
    (files,) = (told["text_forms.files", ""].schema or {}).values()
    assert files["artifact_params"] == {"docs": {"is_list": True, "is_optional": False}}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:strict")
def test_strict_mode_is_the_package_itself(release: str, tmp_path: Path) -> None:
    """Each form fails as the package alone has it fail, and what it serves works."""
    told = answers(release, tmp_path, strict=True)
    assert surprises(release, told, strict=True) == []
    (shown,) = (told["forms.or_none", ""].schema or {}).values()
    assert set(shown["parameters"]["properties"]) == {"x", "ctx"}
    assert told["forms.partial", ""].schema is None
