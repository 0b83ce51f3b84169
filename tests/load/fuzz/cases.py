"""What a fuzz run is made of: cases of four kinds, drawn by hypothesis from a seed."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.load.fuzz.blocks import BLOCKS, ENDINGS, Ending, die_of, exit_with, system_call

PROFILES = ("declared", "restrictive", "standard", "permissive")
LOADERS = ("manifest", "declared tool", "vessel", "worker", "description")


@dataclass(frozen=True)
class HostileTool:
    """A tool made from building blocks, under one profile."""

    profile: str
    blocks: tuple[str, ...]
    ending: Ending

    @property
    def must_fail(self) -> bool:
        """Whether a success would be a lie."""
        return self.ending.declared_fails if self.profile == "declared" else self.ending.fails

    @property
    def arguments(self) -> bytes:
        """The call's arguments."""
        return json.dumps({"blocks": [*self.blocks, self.ending.code]}).encode()


@dataclass(frozen=True)
class LeftResult:
    """A tool that leaves these bytes as its result file and ends with 0."""

    content: bytes

    @property
    def must_fail(self) -> bool:
        """Whether these bytes can't be a success: no JSON object, or one that says it failed."""
        try:
            value = json.loads(self.content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return True
        if not isinstance(value, dict) or not value.keys() & {"result", "error"}:
            return True
        if value.get("error"):
            return True
        result = value.get("result")
        return isinstance(result, dict) and result.get("_schema") == "ToolResult" and result.get("status") == "error"

    @property
    def arguments(self) -> bytes:
        """The call's arguments."""
        text = base64.b64encode(self.content).decode("ascii")
        block = f"import base64, os; open(RESULT, 'wb').write(base64.b64decode('{text}')); os._exit(0)"
        return json.dumps({"blocks": [block]}).encode()


@dataclass(frozen=True)
class OddArguments:
    """Bytes sent as the arguments of a well-behaved tool.

    Attributes:
        way: through the `client`, `inline` in a signed message, or as a stored `payload`.
    """

    content: bytes
    way: str

    @property
    def must_fail(self) -> bool:
        """Whether these are no arguments at all."""
        try:
            value = json.loads(self.content.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return True
        return not isinstance(value, dict)


@dataclass(frozen=True)
class OddFile:
    """A file for one of the loaders."""

    loader: str
    content: bytes


Case = HostileTool | LeftResult | OddArguments | OddFile


def _refuse(name: str) -> None:
    raise ValueError(name)


_TEXTS = st.text(max_size=12) | st.sampled_from(["", "success", "ToolResult", "\0", "\ud800", "../../etc", "a" * 3000])
_NUMBERS = (
    st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.sampled_from([2**63, -(2**64), 10**400, 1e308, -0.0])
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
_ODD_TEXTS = st.sampled_from(
    [
        b"",
        b"{",
        b"null",
        b"[" * 20_000,
        b'{"a": ' * 3000 + b"1" + b"}" * 3000,
        b'{"text": "a", "text": "b"}',
        b'{"number": 1e999}',
        b'{"number": ' + b"9" * 5000 + b"}",
        b'{"ratio": NaN, "number": -Infinity}',
        b'\xef\xbb\xbf{"text": "x"}',
        b'{"text": "\\ud800"}',
        b'{"text": "\xff\xfe"}',
        b'{"text": "' + b"x" * 400_000 + b'"}',
        b'{"result": "x"} trailing',
        b"{'text': 1}",
        b"\0" * 100,
    ]
)


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode("ascii")


def _mutated(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Cut, doubled, overwritten or extended somewhere, up to three times."""
    change = st.tuples(
        st.sampled_from(["cut", "double", "write", "insert"]),
        st.floats(0, 1),
        st.floats(0, 0.3),
        st.binary(max_size=6)
        | st.sampled_from([b"{", b"[[", b"'", b'"""', b"\t", b"&a *a", b": ", b"\n- ", b"${X}", b"!!x"]),
    )
    return st.builds(_changed, texts, st.lists(change, max_size=3))


def _changed(text: bytes, changes: list[tuple[str, float, float, bytes]]) -> bytes:
    for how, place, length, new in changes:
        start = int(len(text) * place)
        end = min(len(text), start + int(len(text) * length))
        middle = {"cut": b"", "double": text[start:end] * 2, "write": new, "insert": new + text[start:end]}[how]
        text = text[:start] + middle + text[end:]
    return text


_TOOL = {"executable": "t", "timeout_seconds": 5, "resource_limits": {"max_processes": 5}, "required_scopes": ["a:b:c"]}
_SOUND: dict[str, bytes] = {
    "manifest": yaml.safe_dump({"version": 1, "tools": {"one": _TOOL, "two": {"executable": "x.py"}}}).encode(),
    "declared tool": b'name = "t"\ndescription = "d"\ncommand = ["sh", "-c", "true"]\ninput = "args"\ntimeout_seconds = 2.5\n'
    b'[parameters]\ntype = "object"\n[parameters.properties.n]\ntype = "integer"\n',
    "vessel": b'workdir = "/data"\ntool_timeout_seconds = 5\n[tools]\ndeclared = ["tools/t.toml"]\n'
    b'[[sandbox.mounts]]\nsource = "data"\ntarget = "/data"\n',
    "worker": yaml.safe_dump(
        {
            "namespace": "n",
            "toolsets": ["t"],
            "keys": {"issuer": "i", "executors": "e", "sealing": "s"},
            "concurrency": 4,
        }
    ).encode(),
    "description": _json_bytes(
        {"tools": {"t": {"description": "d", "parameters": {"type": "object"}, "timeout_seconds": 3}}}
    ),
}
_KEYS = st.sampled_from(
    [
        "version",
        "tools",
        "executable",
        "declared",
        "name",
        "command",
        "parameters",
        "properties",
        "sandbox",
        "mounts",
        "keys",
    ]
)


def _structures() -> st.SearchStrategy[Any]:
    return st.dictionaries(_KEYS | _TEXTS, st.deferred(_structures) | _VALUES, max_size=3)


def _odd_files(loader: str) -> st.SearchStrategy[OddFile]:
    structure = _structures().map(_json_bytes)  # JSON is YAML; TOML refuses it, which is a case as well
    tables = st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True) | _KEYS, _VALUES, max_size=4).map(_as_toml)
    texts = (
        _mutated(st.just(_SOUND[loader]))
        | structure
        | tables
        | _mutated(structure)
        | st.binary(max_size=60)
        | _ODD_TEXTS
    )
    return st.builds(OddFile, st.just(loader), texts)


def _as_toml(table: dict[str, Any]) -> bytes:
    return b"".join(f"{key} = ".encode() + _json_bytes(value) + b"\n" for key, value in table.items())


def _hostile_tools() -> st.SearchStrategy[HostileTool]:
    number = st.integers(0, 470) | st.sampled_from([56, 57, 58, 59, 62, 101, 165, 272, 317, 435])
    given_number = st.sampled_from([0, 1, -1, 2**31, 2**47, 4096])
    calls = st.builds(system_call, number, st.tuples(*[given_number] * 5))
    block = st.sampled_from(sorted(BLOCKS)).map(BLOCKS.__getitem__)
    quick = st.sampled_from(
        sorted(ENDINGS.keys() - {"sleep", "deaf_sleep", "spin", "stop", "exec_sleep", "finish_slowly"})
    )
    ending = (
        quick.map(ENDINGS.__getitem__)
        | st.sampled_from(sorted(ENDINGS)).map(ENDINGS.__getitem__)
        | st.builds(exit_with, st.integers(1, 255))
        | st.builds(die_of, st.sampled_from([9, 11, 6, 15, 24, 25, 31, 4, 14, 1]))
    )
    blocks = st.lists(block | block | block | calls, min_size=1, max_size=4).map(tuple)
    return st.builds(HostileTool, st.sampled_from(PROFILES), blocks, ending)


def _left_results() -> st.SearchStrategy[LeftResult]:
    fields = st.fixed_dictionaries(
        {},
        optional={
            "_schema": st.just("ToolResult"),
            "status": st.sampled_from(["success", "error", "partial", "pending", "odd"]) | _VALUES,
            "message": _VALUES,
            "data": _VALUES,
            "error_code": st.just("AUTH_REQUIRED") | _VALUES,
            "data_objects": st.lists(
                st.fixed_dictionaries(
                    {}, optional=dict.fromkeys(("name", "content", "is_binary", "mime_type"), _VALUES)
                )
                | _VALUES,
                max_size=3,
            )
            | _VALUES,
        },
    )
    envelope = st.fixed_dictionaries(
        {"result": fields | _VALUES},
        optional={"error": st.just("") | _VALUES, "error_detail": _VALUES, "notes": _VALUES},
    ).map(_json_bytes)
    content = envelope | envelope | _mutated(envelope) | _VALUES.map(_json_bytes) | st.binary(max_size=200) | _ODD_TEXTS
    return st.builds(LeftResult, content)


def _odd_arguments() -> st.SearchStrategy[OddArguments]:
    names = st.sampled_from(["text", "number", "ratio", "flag", "items", "table"])
    good = st.dictionaries(names | _TEXTS, _VALUES, max_size=4).map(_json_bytes)
    content = good | good | _mutated(good) | st.binary(max_size=100) | _ODD_TEXTS | _VALUES.map(_json_bytes)
    return st.builds(OddArguments, content, st.sampled_from(["client", "inline", "payload"]))


def _cases() -> st.SearchStrategy[Case]:
    """Half are files for loaders, which are cheap; more than a third run a tool in a sandbox."""
    kinds: list[Callable[[], st.SearchStrategy[Case]]] = [
        *[_hostile_tools] * 4,
        *[_left_results] * 3,
        *[_odd_arguments] * 3,
        *[lambda: st.sampled_from(LOADERS).flatmap(_odd_files)] * 11,
    ]
    return st.sampled_from(kinds).flatmap(lambda kind: kind())


def draw_cases(count: int, number: int) -> list[Case]:
    """The first cases of a seed."""
    drawn: list[Case] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases())
    def draw(case: Case) -> None:
        drawn.append(case)

    draw()
    return drawn[:count]
