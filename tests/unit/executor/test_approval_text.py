"""What a person reads before agreeing: a template over arguments that a model wrote, bounded, and never a failure."""

import json

import pytest

from toolmesh_contracts.agent_config.entries import Approval
from toolmesh_executor.approval_text import approval_text


def text_of(template: str, arguments: object) -> str:
    return approval_text(Approval(approval_message=template), "pay", json.dumps(arguments).encode())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"amount": 9}, "Pay 9?"),
        ({"self": 1, "amount": 9}, "Pay 9?"),
        ({"amount": "{{ 7 }}"}, "Pay {{ 7 }}?"),
        ({}, "Pay ?"),
    ],
)
def test_the_template_is_filled_in_whatever_arguments_are_called(arguments: object, text: str) -> None:
    """No name of an argument switches it off, and what they hold is no template."""
    assert text_of("Pay {{ amount }}?", arguments) == text


@pytest.mark.parametrize(
    "template",
    [
        "{% assign x = 'xxxxxxxxxxxxxxxx' %}{% for i in (1..40) %}{% assign x = x | append: x %}{% endfor %}{{ x | size }}",
        "{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}",
        "{% for i in (1..900) %}{{ 'xxxxxxxxxxxxxxxx' }}{% endfor %}",
        "{{ amount",
        "{% for %}",
    ],
)
def test_a_template_that_can_not_be_used_leaves_the_plain_question_with_the_reason(template: str) -> None:
    """Neither time nor memory of the executor is at the mercy of an agent's file."""
    text = text_of(template, {"amount": 9})
    assert text.startswith("May the agent call pay? (its approval_message can't be used:")
    assert len(text) < 1000
