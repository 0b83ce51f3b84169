"""Loading an executor's agents: folders, duplicates, foreign namespaces, broken files."""

from pathlib import Path

from tests.support.agent_folder import agent_folder

from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.registry import build_registry

GOOD = "agent_name: {name}\ntools: []\n"


def test_a_folder_gives_its_agent_files_in_order(tmp_path: Path) -> None:
    """`*.yaml` and `*.yml`, nothing else; an agent may also be named by its file."""
    for file, name in (("b.yml", "two"), ("a.yaml", "one")):
        (tmp_path / file).write_text(GOOD.format(name=name))
    (tmp_path / "notes.txt").write_text("no agent")
    single = tmp_path / "single"
    single.write_text(GOOD.format(name="three"))
    loaded = load_agents([tmp_path, single], "demo", {})
    assert list(loaded.agents) == ["one", "two", "three"]
    assert loaded.problems == ()


def test_an_agent_defined_twice_names_both_files(tmp_path: Path) -> None:
    """The first is used; the second is reported with the first one's file."""
    for file in ("a.yaml", "b.yaml"):
        (tmp_path / file).write_text(GOOD.format(name="same"))
    loaded = load_agents([tmp_path], "demo", {})
    (problem,) = loaded.problems
    assert problem.file == str(tmp_path / "b.yaml")
    assert str(tmp_path / "a.yaml") in problem.message


def test_broken_and_missing_files_leave_the_others(tmp_path: Path) -> None:
    """Every problem is told with its file, and the sound agents start."""
    (tmp_path / "bad.yaml").write_text("agent_name: [")
    (tmp_path / "good.yaml").write_text(GOOD.format(name="good"))
    (tmp_path / "empty").mkdir()
    loaded = load_agents([tmp_path, tmp_path / "missing.yaml", tmp_path / "empty"], "demo", {})
    assert list(loaded.agents) == ["good"]
    assert [problem.file for problem in loaded.problems] == [
        str(tmp_path / "bad.yaml"),
        str(tmp_path / "missing.yaml"),
        str(tmp_path / "empty"),
    ]


def test_an_agent_of_another_namespace_is_left_out(tmp_path: Path) -> None:
    """Namespaces never mix, and it is said."""
    (tmp_path / "a.yaml").write_text("namespace: other\n" + GOOD.format(name="a"))
    loaded = load_agents([tmp_path / "a.yaml"], "demo", {})
    assert loaded.agents == {}
    assert "namespace 'other'" in str(loaded.problems[0])


def test_an_agent_folder_is_an_agent_of_its_name(tmp_path: Path) -> None:
    """Its declared tools are its tools; a broken one is told, and the others stay."""
    folder = agent_folder(tmp_path / "guide", {"one": "true", "two": "true", "bad": "true"}, more={"bad": "x = 1"})
    (agent,) = build_registry(load_agents([folder], "demo", {}).agents.values()).values()
    assert agent.agent == "guide"
    assert list(agent.tools) == ["one", "two"]
    (problem,) = agent.problems
    assert "bad.toml" in problem.message


def test_an_agent_folder_whose_name_can_be_no_agents_is_told(tmp_path: Path) -> None:
    """And one whose vessel.toml is broken."""
    agent_folder(tmp_path / "a b", {"one": "true"})
    agent_folder(tmp_path / "broken", {"one": "true"}, vessel="workdir = 1")
    loaded = load_agents([tmp_path / "a b", tmp_path / "broken"], "demo", {})
    assert loaded.agents == {}
    assert "rename it" in str(loaded.problems[0])
    assert "workdir" in str(loaded.problems[1])


def test_an_agent_folders_prompt_is_its_instruction(tmp_path: Path) -> None:
    """A prompt that can't be read leaves the agent out: without it, it would be another agent."""
    for name, prompt in (("guide", b"Be kind."), ("bad", b"\xff"), ("plain", None)):
        folder = agent_folder(tmp_path / name, {"one": "true"})
        if prompt is not None:
            (folder / "prompt.md").write_bytes(prompt)
    (agent_folder(tmp_path / "linked", {"one": "true"}) / "prompt.md").symlink_to(tmp_path / "nowhere")
    loaded = load_agents([tmp_path / name for name in ("guide", "bad", "plain", "linked")], "demo", {})
    assert {name: one.agent.config.instruction for name, one in loaded.agents.items()} == {
        "guide": "Be kind.",
        "plain": "",
    }
    assert ["bad/prompt.md" in str(loaded.problems[0]), "linked/prompt.md" in str(loaded.problems[1])] == [True, True]
