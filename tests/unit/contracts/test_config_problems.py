"""How mistakes in files are told."""

from toolmesh_contracts.config_problems import ConfigError, Problem, describe, format_path, nearest
from toolmesh_contracts.errors import ErrorCode


def test_a_problem_is_one_line_with_everything() -> None:
    """File, line, key, what is wrong, what stands there, what may, and the nearest spelling."""
    problem = Problem(
        file="a.yaml",
        line=3,
        path=("tools", 0, "a.b", "type"),
        message="no",
        found='"x"',
        allowed="y",
        suggestion="y",
    )

    assert str(problem) == 'a.yaml:3: tools[0]["a.b"].type: no; found "x"; did you mean \'y\'?; allowed: y'
    assert str(Problem(file="a.yaml", message="gone")) == "a.yaml: gone"
    assert format_path((0, "a")) == "[0].a"


def test_an_error_lists_its_problems_up_to_a_bound() -> None:
    """A thousand mistakes don't fill the screen, but all are there for a program."""
    error = ConfigError(Problem(file="f", message=str(number)) for number in range(1000))

    assert len(error.problems) == 1000
    assert str(error).splitlines()[-1] == "and 950 more problems"
    assert error.code is ErrorCode.INVALID_CONFIGURATION


def test_values_are_shortened() -> None:
    """Texts are cut, collections are only named."""
    assert describe("x" * 1000) == '"' + "x" * 59 + "…"
    assert describe({"a": 1}) == "a mapping"
    assert describe([1, 2]) == "a list of 2"
    assert describe(None) == "nothing"
    assert describe(True) == "true"


def test_nearest_ignores_case_and_knows_when_nothing_is_near() -> None:
    """`TimeOut_Seconds` finds its key; a stranger finds none."""
    assert nearest("TimeOut_Secnds", ["timeout_seconds", "executable"]) == "timeout_seconds"
    assert nearest("zzz", ["timeout_seconds"]) == ""
