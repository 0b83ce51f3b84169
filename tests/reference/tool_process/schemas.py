"""What `--schema` prints (section 2.8)."""

from tests.reference.places import (
    ARGUMENT_RULES,
    BY_STYLE,
    CATALOG,
    DECLARED,
    DESCRIBED,
    DISCOVERY,
    EMPTY_CONFIGURATION,
    FILE_LISTS,
    FORMS,
    GO_ARTIFACTS,
    IN_TIME,
    OWN_FILES_IN,
    PRESENTATION,
    RELEASES,
    SCHEMA_DOCUMENTS,
    UNDESCRIBABLE,
)
from tests.reference.row import Row

_READ = "tests/unit/contracts/test_tool_description.py::test_a_full_description"
_PARAGRAPHS = f"{SCHEMA_DOCUMENTS}::test_a_described_function_keeps_its_paragraphs_and_loses_its_args_block"
_OVERRIDE = f"{SCHEMA_DOCUMENTS}::test_a_given_config_changes_name_and_description_and_keeps_the_static_name"
_MISTAKES = f"{SCHEMA_DOCUMENTS}::test_wrong_declarations_are_refused_where_they_are_written"
_BROKEN = f"{SCHEMA_DOCUMENTS}::test_what_cannot_be_described_is_one_line_on_stderr"
_SHOWN = f"{PRESENTATION}::test_first_paragraph_is_the_description_and_nothing_else_is_lost"

ROWS = [
    Row(
        "2.8:description",
        "The whole first paragraph as one line, in every style.",
        (RELEASES, _SHOWN, _PARAGRAPHS, f"{FORMS}::test_repaired_tools_advertise_only_what_models_send"),
        differs="first lines and whole docstrings are accidents of the published SDK; strict mode keeps them",
    ),
    Row(
        "2.8:description-strict",
        "In strict mode exactly as the package has it.",
        ("tests/integration/runtime/test_published_sdk_calls.py::test_strict_toolset_runs_as_the_package_alone",),
    ),
    Row(
        "2.8:parameters",
        "An object schema; a class tool that gives none is refused by name.",
        (
            UNDESCRIBABLE,
            _PARAGRAPHS,
            f"{_BROKEN}[parameters_schema must be a JSON Schema object]",
            "tests/unit/contracts/test_tool_description.py::test_nothing_is_required",
        ),
    ),
    Row(
        "2.8:artifact_params",
        "Which parameters are files, and which of them lists or optional, is in the catalog.",
        (CATALOG, GO_ARTIFACTS, _READ),
    ),
    Row(
        "2.8:filename_key",
        "A list of objects that name files keeps its form, and its files are looked for.",
        (
            FILE_LISTS,
            _READ,
            f"{PRESENTATION}::test_artifact_is_advertised_as_the_name_of_a_file",
            f"{ARGUMENT_RULES}::test_artifact_that_did_not_come_along_is_refused",
        ),
    ),
    Row(
        "2.8:instructions",
        "What the description does not say, without the parameters' texts.",
        (
            RELEASES,
            _PARAGRAPHS,
            f"{PRESENTATION}::test_instructions_do_not_repeat_the_parameters",
            f"{PRESENTATION}::test_block_that_says_more_than_the_schema_stays",
        ),
        differs="texts that the parameters carry are not said twice",
    ),
    Row("2.8:auth", "Sign-in is in the catalog as declared.", (CATALOG, DECLARED, _READ)),
    Row(
        "2.8:config_schema",
        "Each key with type, need, secrecy and options is in the catalog.",
        (DESCRIBED, CATALOG, DECLARED),
    ),
    Row(
        "2.8:timeout_seconds",
        "The tool's own limit is in the catalog and holds.",
        (
            DESCRIBED,
            CATALOG,
            "tests/integration/runtime/test_go_tools.py::test_go_tool_at_its_time_limit_puts_things_away_first",
        ),
    ),
    Row("2.8:volume_params", "Volumes are in the catalog, with their mode.", (CATALOG, DECLARED, BY_STYLE)),
    Row(
        "2.8:reserved-auth",
        "The reserved key is refused where it is written.",
        (
            UNDESCRIBABLE,
            _MISTAKES,
        ),
    ),
    Row(
        "2.8:dynamic-keys",
        "Five keys can be changed, others and null are passed over, and a wrong one is told.",
        (DESCRIBED, _OVERRIDE, f"{SCHEMA_DOCUMENTS}::test_a_wrong_dynamic_schema_is_told"),
    ),
    Row(
        "2.8:dynamic-empty",
        "An empty configuration counts as given.",
        (
            EMPTY_CONFIGURATION,
            _OVERRIDE,
        ),
    ),
    Row(
        "2.8:renamed",
        "A renamed tool is called by its static name; ours answers to both.",
        (
            DESCRIBED,
            _OVERRIDE,
            f"{SCHEMA_DOCUMENTS}::test_a_provider_renames_its_tools_and_answers_both_names",
            "tests/unit/executor/test_dispatch.py::test_a_renamed_tool_gets_its_settings_and_secrets",
        ),
    ),
    Row(
        "2.8:noise",
        "What is printed at import or later does no harm.",
        (
            CATALOG,
            f"{DISCOVERY}::test_noise_around_the_schema_does_no_harm",
            f"{SCHEMA_DOCUMENTS}::test_prints_of_create_tools_stay_out_of_the_schema",
            "tests/unit/contracts/test_tool_description.py::test_noise_around_the_object_is_ignored",
        ),
    ),
    Row(
        "2.8:time",
        "A program that does not answer within 30 s, or as configured, is named, and the others are served.",
        (
            IN_TIME,
            f"{DISCOVERY}::test_broken_programs_are_named_and_the_good_one_served",
            f"{DISCOVERY}::test_many_hanging_programs_delay_the_good_ones_little",
            "tests/unit/contracts/test_worker_config.py::test_defaults",
        ),
    ),
    Row(
        "2.8:missing-arguments",
        "A call that lacks arguments is refused with all their names.",
        (
            OWN_FILES_IN,
            f"{ARGUMENT_RULES}::test_every_missing_argument_is_named_at_once",
            "tests/unit/client/test_call_arguments.py::test_missing_arguments_are_named",
        ),
    ),
    Row(
        "2.8:bad-config",
        "Exit 1 and the reason on stderr.",
        (f"{SCHEMA_DOCUMENTS}::test_a_bad_config_file_is_told",),
        apart="the worker writes the file itself, always as one object",
    ),
]
