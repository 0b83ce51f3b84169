"""Evaluates arithmetic that a model wrote, without anything that could take time or memory."""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, TypeAlias

__all__ = ["ArithmeticFaultError", "Number", "evaluate"]

Number: TypeAlias = int | float

_LONGEST: Final = 500
_DEEPEST: Final = 40
_MOST_BITS: Final = 4096
_LARGEST_FACTORIAL: Final = 500
_MOST_DIGITS: Final = 308


class ArithmeticFaultError(Exception):
    """Raised when an expression has no value; the message says why."""


def _power(base: Number, exponent: Number) -> Number:
    # At least so many bits; what comes out has at most twice as many, and is looked at again.
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > _MOST_BITS:
        raise ArithmeticFaultError("the result is too large")
    return _number(base**exponent)


def _factorial(number: Number) -> int:
    if not isinstance(number, int) or not 0 <= number <= _LARGEST_FACTORIAL:
        raise ArithmeticFaultError(f"factorial needs a whole number from 0 to {_LARGEST_FACTORIAL}")
    return math.factorial(number)


def _round(number: Number, digits: Number | None = None) -> Number:
    if digits is None:
        return round(number)
    if not isinstance(digits, int) or abs(digits) > _MOST_DIGITS:
        raise ArithmeticFaultError(f"round needs a whole number of digits, at most {_MOST_DIGITS}")
    return round(number, digits)


_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_CONSTANTS: Final[Mapping[str, float]] = {"pi": math.pi, "e": math.e, "inf": math.inf}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sum": sum,
    "factorial": _factorial,
    **{name: getattr(math, name) for name in ("sqrt", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(math, name) for name in ("atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
}
_OVER_LISTS: Final = frozenset({"min", "max", "sum"})
_RANDOM: Final = frozenset({"random", "randint", "uniform"})


def evaluate(expression: str, rng: Random) -> Number:
    """Return an expression's value.

    Args:
        expression: Numbers, `+ - * / // % **`, and the functions and constants that the documentation lists.
        rng: Where chance comes from.

    Raises:
        ArithmeticFaultError: it is none of that, too large, or has no value.
    """
    if len(expression) > _LONGEST:
        raise ArithmeticFaultError(f"the expression is longer than {_LONGEST} characters")
    try:
        return _number(_value(_parsed(expression), rng, 0))
    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
        raise ArithmeticFaultError(str(error)) from None


def _parsed(expression: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Python only warns of some numbers that run into a word.
            warnings.simplefilter("error")
            return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning):
        raise ArithmeticFaultError("this is no arithmetic expression") from None


def _value(node: ast.expr, rng: Random, depth: int) -> Number:
    if depth > _DEEPEST:
        raise ArithmeticFaultError(f"the expression is nested deeper than {_DEEPEST}")
    match node:
        case ast.Constant(value=number):
            return _number(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _number(_UNARY[type(sign)](_value(operand, rng, depth + 1)))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            operands = _value(left, rng, depth + 1), _value(right, rng, depth + 1)
            return _number(_BINARY[type(sign)](*operands))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _called(name, arguments, rng, depth)
        case ast.Name(id=name):
            raise ArithmeticFaultError(f"{name!r} is not known here")
        case _:
            raise ArithmeticFaultError("only numbers, arithmetic and the known functions are allowed")


def _called(name: str, arguments: list[ast.expr], rng: Random, depth: int) -> Number:
    function = getattr(rng, name) if name in _RANDOM else _FUNCTIONS.get(name)
    if function is None:
        raise ArithmeticFaultError(f"function {name!r} is not known here")
    if name in _OVER_LISTS:
        if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
            arguments = arguments[0].elts
        return _number(function([_value(one, rng, depth + 1) for one in arguments]))
    return _number(function(*(_value(one, rng, depth + 1) for one in arguments)))


def _number(value: object) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArithmeticFaultError("the value is not a real number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ArithmeticFaultError("the result is too large")
    return value
