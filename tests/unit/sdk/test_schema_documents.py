"""What `--schema` prints: descriptions, instructions, declarations, dynamic changes, and clear refusals."""

import pytest
from tests.support.tool_process import ToolProcess
from tests.support.undescribable_tools import BROKEN, UNDESCRIBED

DECORATED = """
    from toolmesh_sdk import (
        ConfigSchemaField, VolumeParam, tool_cli, tool_timeout, with_auth, with_config_schema, with_dynamic_schema,
        with_instructions, with_raw_string_args, with_volume_params,
    )

    def override(config):
        backend = config.get("backend", "mongo")
        return {"name": f"query_{backend}", "description": f"Query {backend}.", "timeout_seconds": 9, "parameters": None}

    @tool_timeout(60)
    @with_volume_params([VolumeParam("work", "/work/v", "readwrite", "scratch")])
    @with_config_schema([ConfigSchemaField("backend", options=["mongo"]), ConfigSchemaField("key", secret=True)])
    @with_dynamic_schema(override)
    @with_auth({"type": "bearer"})
    @with_raw_string_args("sql", resolution_type="all")
    @with_instructions("Use sparingly.")
    def query(sql: str, limit: int = 10):
        "Query a database."
        return sql

    tool_cli(query)()
"""


def test_declarations_are_part_of_the_entry(tool: ToolProcess) -> None:
    """Time-out, volumes, configuration, sign-in and embed control, which the published SDK could not send."""
    tool.write(DECORATED)
    assert tool.schema() == {
        "query": {
            "description": "Query a database.",
            "parameters": {
                "type": "object",
                "properties": {"sql": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
                "required": ["sql"],
            },
            "instructions": "Use sparingly.",
            "auth": {"type": "bearer"},
            "config_schema": [
                {"key": "backend", "type": "string", "options": ["mongo"]},
                {"key": "key", "type": "string", "secret": True},
            ],
            "timeout_seconds": 60,
            "volume_params": [{"name": "work", "mount_path": "/work/v", "mode": "readwrite", "description": "scratch"}],
            "raw_string_args": ["sql"],
            "resolution_type": "all",
        }
    }


def test_a_given_config_changes_name_and_description_and_keeps_the_static_name(tool: ToolProcess) -> None:
    """An empty config counts as given; unknown keys of an override are ignored; the tool answers either name."""
    tool.write(DECORATED)
    (entry,) = tool.schema({}).items()
    assert entry[0] == "query_mongo"
    assert entry[1]["description"] == "Query mongo."
    assert entry[1]["static_name"] == "query"
    assert entry[1]["timeout_seconds"] == 60
    assert set(tool.schema({"backend": "sql"})) == {"query_sql"}
    assert tool.call({"sql": "select"}, tool_name="query_mongo").result["text"] == "select"


def test_a_provider_renames_its_tools_and_answers_both_names(tool: ToolProcess) -> None:
    """A host may call the name that the model saw; the published provider knew only the static one."""
    tool.write(
        """
        from toolmesh_sdk import DynamicToolProvider, provider_cli

        class P(DynamicToolProvider):
            def create_tools(self, tool_config=None):
                return []
            async def dynamic_schema(self, config):
                return {"name": config["name"], "config_schema": [{"key": "name"}]} if "name" in config else None

        @P.register_tool
        def query():
            "Query."
            return "ran"

        provider_cli(P)()
        """
    )
    assert tool.schema({})["query"] == {"description": "Query.", "parameters": {"type": "object", "properties": {}}}
    assert tool.schema({"name": "orders"})["orders"]["static_name"] == "query"
    for name in ("orders", "query"):
        assert tool.call(tool_name=name, tool_config={"name": "orders"}).result["text"] == "ran"


def test_a_described_function_keeps_its_paragraphs_and_loses_its_args_block(tool: ToolProcess) -> None:
    """The first paragraph is joined; the parameter texts stand where they belong and nowhere else."""
    tool.write(
        '''
        from toolmesh_sdk import tool_cli

        def run(city: str, days: int = 3, *more, **rest: int):
            """Return the forecast
            for a city.

            Ask for the country first.

            Args:
                city: The city, which may be
                    written in any language.
                days (int): How many.

            Returns:
                A text.
            """

        tool_cli(run)()
        '''
    )
    assert tool.schema()["run"] == {
        "description": "Return the forecast for a city.",
        "instructions": "Ask for the country first.\n\nReturns:\n    A text.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, which may be written in any language."},
                "days": {"type": "integer", "description": "How many.", "default": 3},
            },
            "required": ["city"],
            "additionalProperties": {"type": "integer"},
        },
    }


@pytest.mark.parametrize("source", UNDESCRIBED.values(), ids=UNDESCRIBED)
def test_a_tool_without_description_is_refused_at_discovery_in_every_style_but_still_runs(
    tool: ToolProcess, source: str
) -> None:
    """Model providers refuse such a tool; a call that is already under way is not the time to say so."""
    tool.write("from toolmesh_sdk import *\n" + source)
    code, stdout, stderr = tool.run("--schema")
    assert (code, stdout) == (1, "")
    told = stderr.splitlines()[-1]
    assert told.startswith("Schema discovery failed: ToolDefinitionError: run has no description: write ")
    assert tool.call({"x": "ran"}, tool_name="run").result["text"] == "ran"


@pytest.mark.parametrize(("reason", "source"), BROKEN.items(), ids=BROKEN)
def test_what_cannot_be_described_is_one_line_on_stderr(venv_tool: ToolProcess, reason: str, source: str) -> None:
    """No traceback, nothing on stdout, exit 1."""
    venv_tool.write("from toolmesh_sdk import *\n" + source)
    code, stdout, stderr = venv_tool.run("--schema")
    assert (code, stdout) == (1, "")
    assert reason in stderr
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "reason"), [("[]", "must be a JSON object"), ("{", "Expecting"), (None, "No such")]
)
def test_a_bad_config_file_is_told(venv_tool: ToolProcess, content: str | None, reason: str) -> None:
    """As the contract has it: reason on stderr, exit 1."""
    venv_tool.write(DECORATED)
    path = venv_tool.folder / "config.json"
    if content is not None:
        path.write_text(content)
    code, stdout, stderr = venv_tool.run("--config", str(path), "--schema")
    assert (code, stdout) == (1, "")
    assert reason in stderr


@pytest.mark.parametrize("returned", ["5", "{'name': 5}", "{'parameters': []}"])
def test_a_wrong_dynamic_schema_is_told(venv_tool: ToolProcess, returned: str) -> None:
    """It names the tool and the key."""
    venv_tool.write(
        "from toolmesh_sdk import *\n@with_dynamic_schema(lambda config: " + returned + ")\n"
        "def run():\n    'Do.'\ntool_cli(run)()"
    )
    code, _, stderr = venv_tool.run("--schema", f"--config={venv_tool.arguments_file()}")
    assert code == 1
    assert "run: the dynamic schema" in stderr


def test_prints_of_create_tools_stay_out_of_the_schema(tool: ToolProcess) -> None:
    """The document is what a host parses."""
    tool.write(
        """
        from toolmesh_sdk import DynamicToolProvider, provider_cli

        class P(DynamicToolProvider):
            async def create_tools(self, tool_config=None):
                print("{noise")

        @P.register_tool
        def run():
            "Do."

        provider_cli(P)()
        """
    )
    assert set(tool.schema()) == {"run"}


def test_wrong_declarations_are_refused_where_they_are_written() -> None:
    """An import error of the tool's file names the line."""
    from toolmesh_sdk import (
        ConfigSchemaField,
        tool_timeout,
        with_config_schema,
        with_dynamic_schema,
        with_raw_string_args,
        with_volume_params,
    )

    for seconds in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="above zero"):
            tool_timeout(seconds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'auth' is the host's own"):
        with_config_schema([ConfigSchemaField("auth")])
    with pytest.raises(TypeError, match="ConfigSchemaField or dict, got str"):
        with_config_schema(["key"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="VolumeParam or dict, got str"):
        with_volume_params(["v"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes a function of tool_config, got dict"):
        with_dynamic_schema({})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="resolution_type is 'early' or 'all'"):
        with_raw_string_args("x", resolution_type="late")


def test_class_tools_and_provider_functions_declare_as_functions_do(tool: ToolProcess) -> None:
    """Fields of configuration may be objects, and no declaration of a provider's function is lost."""
    tool.write(
        """
        from toolmesh_sdk import (
            ConfigSchemaField, DynamicTool, DynamicToolProvider, VolumeParam, provider_cli, tool_timeout, with_volume_params
        )

        class Klass(DynamicTool):
            tool_name = "klass"
            tool_description = "A class tool."
            parameters_schema = {"type": "object", "properties": {}}
            config_schema = [ConfigSchemaField("key", secret=True)]
            raw_string_args = ["x"]
            instructions = "Sparingly."
            async def _run_async_impl(self, args, tool_context=None):
                return "ran"

        class P(DynamicToolProvider):
            def create_tools(self, tool_config=None):
                return [Klass(tool_config)]

        @P.register_tool
        @tool_timeout(7)
        @with_volume_params([VolumeParam("work", "/work/v")])
        async def run():
            "Do."

        provider_cli(P)()
        """
    )
    entries = tool.schema()
    assert entries["klass"]["config_schema"] == [{"key": "key", "type": "string", "secret": True}]
    assert (entries["klass"]["instructions"], entries["klass"]["raw_string_args"]) == ("Sparingly.", ["x"])
    assert (entries["run"]["timeout_seconds"], entries["run"]["volume_params"][0]["mode"]) == (7, "readonly")
