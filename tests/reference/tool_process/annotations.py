"""What each annotation advertises, and what arrives (section 3.1)."""

from tests.reference.places import (
    ANNOTATIONS,
    CONTEXT_FORMS,
    DECLARATIONS,
    EVERY_FORM_AT_WORK,
    EVERY_STYLE,
    FORMS,
    MISSING_ARTIFACT,
    PRESENTATION,
    REPAIRED,
    SCHEMA_DOCUMENTS,
    SDK,
)
from tests.reference.row import Row
from tests.support.annotated_toolset import PUBLISHED_LEAVES_OUT
from tests.support.published_sdk import RELEASES

_MANY = f"{DECLARATIONS}::test_defaults_doubtful_values_and_further_arguments_arrive_as_meant"
_TABLE = f"{SDK}/test_annotation_table.py"
_FAITHFUL = f"{_TABLE}::test_each_annotation_is_advertised_faithfully_and_built"
_ARTIFACT = f"{_TABLE}::test_artifact_parameters_are_file_names_and_declared_to_the_host"
_CONTEXT = f"{_TABLE}::test_the_context_is_no_parameter_under_any_annotation"


def _at_work(test: str, published: str, row: str) -> tuple[str, ...]:
    """The tests of a row through the worker: of our SDK, and of every release of the published one."""
    releases = () if row in PUBLISHED_LEAVES_OUT else RELEASES
    return (f"{ANNOTATIONS}::{test}[{row}]", *(f"{ANNOTATIONS}::{published}[{release}-{row}]" for release in releases))


def _value(row: str) -> tuple[str, ...]:
    tests = (
        "test_value_sent_by_the_schema_arrives_as_annotated",
        "test_published_tool_gets_the_value_that_its_schema_asks_for",
    )
    return (f"{_FAITHFUL}[{row}]", *_at_work(*tests, row))


def _file(row: str) -> tuple[str, ...]:
    tests = "test_file_sent_by_its_name_arrives_loaded", "test_published_tool_gets_the_file_whose_name_was_sent"
    return (f"{_ARTIFACT}[{row}]", *_at_work(*tests, row))


def _context(row: str) -> tuple[str, ...]:
    tests = "test_context_arrives_and_is_not_asked_for", "test_published_tool_gets_its_context_in_every_form"
    return (f"{_CONTEXT}[{row}]", *_at_work(*tests, row))


# Our name of the row, what is right, and the row of the test's table.
_TYPES = [
    ("nothing", "Text.", "nothing at all"),
    ("str", "Text.", "str"),
    ("int", "A whole number.", "int"),
    ("float", "A number; a whole one arrives as a float.", "float"),
    ("bool", "A truth value.", "bool"),
    ("bytes", "Base64, which arrives decoded.", "bytes"),
    ("None", "Null.", "None"),
    ("object", "Any value.", "object"),
    ("Any", "Any value.", "Any"),
    ("complex", "Its text, which arrives as the number.", "complex"),
    ("list", "A list of any values.", "list"),
    ("List", "A list of any values.", "List"),
    ("list[int]", "A list of whole numbers.", "list[int]"),
    ("List[float]", "A list of numbers, which arrive as floats.", "List[float]"),
    ("list[list[int]]", "Lists in a list.", "list[list[int]]"),
    ("List[Any]", "A list of any values.", "List[Any]"),
    ("List[Optional[int]]", "A list in which null is allowed.", "List[Optional[int]]"),
    ("List[dict]", "A list of objects.", "List[dict]"),
    ("dict", "An object.", "dict"),
    ("Dict", "An object.", "Dict"),
    ("dict[str,int]", "An object of whole numbers.", "dict[str, int]"),
    ("Mapping[str,int]", "An object of whole numbers.", "Mapping[str, int]"),
    ("tuple", "A list, which arrives as a tuple.", "tuple"),
    ("tuple[int,str]", "A list of just these two.", "tuple[int, str]"),
    ("set[str]", "A list without repetition, which arrives as a set.", "set[str]"),
    ("Sequence[str]", "A list of texts.", "Sequence[str]"),
    ("Iterable[str]", "A list of texts.", "Iterable[str]"),
    ("Optional[int]", "A whole number or null, and optional.", "Optional[int]"),
    ("int|None", "A whole number or null, and optional.", "int | None"),
    ("Union[int,str]", "Either, each as it was sent.", "Union[int, str]"),
    ("Union[int,str,None]", "Either or null.", "Union[int, str, None]"),
    ("int|str", "Either, each as it was sent.", "int | str"),
    ("Optional[List[int]]", "A list or null.", "Optional[List[int]]"),
    ("list[int]|None", "A list or null.", "list[int] | None"),
    ("Optional[dict]", "An object or null.", "Optional[dict]"),
    ("Literal-text", "One of the texts.", 'Literal["a", "b"]'),
    ("Literal-number", "One of the numbers.", "Literal[1, 2]"),
    ("Optional[Literal]", "One of the texts or null.", 'Optional[Literal["a"]]'),
    ("Enum", "One of its values, which arrives as the member.", "Color"),
    ("str-Enum", "One of its values, which arrives as the member.", "TextColor"),
    ("IntEnum", "One of its numbers, which arrives as the member.", "Level"),
    ("Annotated", "The type, with the text as description.", 'Annotated[int, "d"]'),
    ("Annotated-Field", "With description and limits.", 'Annotated[str, Field(description="d", max_length=3)]'),
    ("TypedDict", "An object with its fields.", "Person"),
    ("TypedDict-total-False", "Only what is marked is required.", "Loose"),
    ("TypedDict-NotRequired", "What is marked may be absent.", "Partly"),
    ("dataclass", "An object with texts and defaults, which arrives as an instance.", "Place"),
    ("dataclass-recursive", "A definition that refers to itself.", "Tree"),
    ("NamedTuple", "An object, which arrives as an instance.", "Pair"),
    ("pydantic", "The model's own schema; an instance arrives.", "Address"),
    ("pydantic-nested", "With the inner model's definition.", "House"),
    ("Optional[pydantic]", "The model or null.", "Optional[Address]"),
    ("pydantic|None", "The model or null.", "Address | None"),
    ("List[pydantic]", "A list of instances.", "List[Address]"),
    ("List[TypedDict]", "A list of objects with their fields.", "List[Person]"),
    ("datetime", "A date and time.", "dt.datetime"),
    ("date", "A date.", "dt.date"),
    ("Decimal", "A number or its text, exact.", "Decimal"),
    ("UUID", "An identifier.", "UUID"),
    ("Path", "A path.", "Path"),
    ("conint", "A whole number within its limits.", "conint(ge=1, le=9)"),
    ("NewType", "As the type that it names.", "UserId"),
    ("TypeVar", "Text where it says nothing.", "Free"),
    ("Callable", "Text under the published names, else refused: a model can't send a function.", "Callable[[], int]"),
    ("Type[int]", "Text under the published names, else refused: a model can't send a class.", "Type[int]"),
    ("'int'", "As if it were not quoted.", '"int"'),
    ("'Optional[int]'", "As if it were not quoted.", '"Optional[int]"'),
    ("ToolResult", "An object with its fields; a result arrives.", "ToolResult"),
    ("DataObject", "An object with its fields; one arrives.", "DataObject"),
    ("DataDisposition", "One of its values.", "DataDisposition"),
]
_FILES = [
    ("Artifact", "The name of a file, which arrives loaded.", "Artifact"),
    ("'Artifact'", "As if it were not quoted.", '"Artifact"'),
    ("'List[Artifact]'", "As if it were not quoted.", '"List[Artifact]"'),
    ("List[Artifact]", "Names of files, which arrive loaded.", "List[Artifact]"),
    ("list[Artifact]", "Names of files, which arrive loaded.", "list[Artifact]"),
    ("Optional[Artifact]", "The name of a file, and optional.", "Optional[Artifact]"),
    ("Artifact|None", "The name of a file, and optional.", "Artifact | None"),
    ("Optional[List[Artifact]]", "Names of files, and optional.", "Optional[List[Artifact]]"),
    ("List[Optional[Artifact]]", "Names of files.", "List[Optional[Artifact]]"),
    ("Tuple[Artifact,...]", "Names of files, which arrive as a tuple.", "tuple[Artifact, ...]"),
    ("Annotated[Artifact]", "The name of a file, described.", 'Annotated[Artifact, "d"]'),
]
_CONTEXTS = [
    ("SandboxToolContextFacade", "SandboxToolContextFacade"),
    ("Optional[SandboxToolContextFacade]", "Optional[SandboxToolContextFacade]"),
    ("SandboxToolContextFacade|None", "SandboxToolContextFacade | None"),
    ("'SandboxToolContextFacade'", "'SandboxToolContextFacade'"),
    ("'Optional[ToolContextFacade]'", "'Optional[ToolContextFacade]'"),
    ("'ToolContext'", "'ToolContext'"),
]

ROWS = [
    *(Row(f"3.1:{name}", outcome, _value(row)) for name, outcome, row in _TYPES),
    *(Row(f"3.1:{name}", outcome, _file(row)) for name, outcome, row in _FILES),
    *(
        Row(
            f"3.1:{name}",
            "The context arrives, and the model never sees it.",
            (*_context(row), f"{CONTEXT_FORMS}::test_the_context_arrives_in_every_form"),
        )
        for name, row in _CONTEXTS
    ),
    Row(
        "3.1:Dict[str,Artifact]",
        "An object of names, each of a file that came along for another parameter.",
        (
            _MANY,
            f"{_TABLE}::test_a_dictionary_of_artifacts_is_filled_by_name",
        ),
    ),
    Row(
        "3.1:'ToolResult'",
        "As if it were not quoted: an object of which a result is built.",
        _value("'ToolResult'"),
        differs="a parameter is hidden only if it is the context or named tool_config; hiding any other loses it",
    ),
    Row(
        "3.1:'MyToolConfig'",
        "Text, as any annotation that can't be resolved.",
        _value("'MyToolConfig'"),
        differs="settings are known by the parameter's name tool_config, whatever its type; this one the model sends",
    ),
    Row(
        "3.1:required",
        "What has neither a default nor allows null is required, in every style alike.",
        (
            _MANY,
            f"{SDK}/test_arguments.py::test_an_optional_parameter_without_default_may_be_left_out",
            f"{FORMS}::test_repaired_tools_advertise_only_what_models_send",
        ),
        differs="whether a tool is a function or a provider's says nothing about its parameters",
    ),
    Row(
        "3.1:default",
        "The default is in the schema, and applies to what is absent.",
        (
            _MANY,
            f"{SCHEMA_DOCUMENTS}::test_declarations_are_part_of_the_entry",
            f"{SDK}/test_arguments.py::test_null_means_the_default_where_null_is_no_value",
        ),
        differs="a model that knows the default need not send it",
    ),
    Row(
        "3.1:refused",
        "A value that does not fit never reaches the tool, and the error names its place.",
        (_MANY, f"{_TABLE}::test_what_does_not_fit_is_refused_by_place_and_expectation", MISSING_ARTIFACT),
        differs="the published SDK hands any value on",
    ),
    Row(
        "3.1:coercion",
        "Numbers, truth values and objects in quotes are taken for what they are, at any depth.",
        (
            _MANY,
            f"{_TABLE}::test_what_models_write_for_a_type_is_taken",
            f"{SDK}/test_arguments.py::test_text_becomes_what_the_annotation_says",
        ),
    ),
    Row(
        "3.1:artifact-as-object",
        "The worker shows a file's name also where the published SDK advertises an object.",
        (
            EVERY_FORM_AT_WORK,
            f"{PRESENTATION}::test_artifact_is_advertised_as_the_name_of_a_file",
        ),
    ),
    Row(
        "3.1:definitions",
        "Models that refer to one another resolve, and equal names stay apart.",
        (
            *_value("Tree"),
            *_value("House"),
            f"{_TABLE}::test_pydantic_definitions_are_lifted_to_the_top",
            f"{_TABLE}::test_recursive_types_use_definitions_and_each_class_keeps_its_own_name",
        ),
    ),
    Row(
        "3.1:docstrings",
        "The three common forms give the parameters' texts, and later sections are none of them.",
        (
            _MANY,
            f"{SDK}/test_docstrings.py::test_every_form_gives_the_same_texts",
        ),
    ),
    Row(
        "3.1:first-sentence",
        "A first sentence over two lines is whole.",
        (
            EVERY_STYLE,
            f"{SCHEMA_DOCUMENTS}::test_a_described_function_keeps_its_paragraphs_and_loses_its_args_block",
            f"{FORMS}::test_repaired_tools_advertise_only_what_models_send",
        ),
    ),
    Row(
        "3.1:dropped-names",
        "`self`, `cls` and `tool_config` are no parameters; they are filled.",
        (EVERY_FORM_AT_WORK, f"{CONTEXT_FORMS}::test_tool_config_reaches_every_style", REPAIRED),
    ),
    Row(
        "3.1:rest",
        "`*args` is no parameter, and `**rest` says what else may be sent.",
        (
            _MANY,
            f"{SDK}/test_arguments.py::test_extra_arguments_reach_a_function_that_takes_them",
        ),
    ),
]
