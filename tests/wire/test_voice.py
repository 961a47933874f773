"""The journal names the assumptions that the words and digits of an answer follow."""

import re
from pathlib import Path

from mockserver.wire import profile

SOURCE = Path(profile.__file__).read_text("utf-8")


def test_an_assumption_that_shapes_answers_is_named_by_a_field_of_the_answer() -> None:
    asked = set(re.findall(r'assumed\["([\w.]+)"\]', SOURCE))
    shaping = {key for key in asked if not key.startswith(("request.", "response."))}
    assert "card.masking" in shaping
    named = SOURCE.partition("_BY_FIELD")[2]
    assert [key for key in sorted(shaping) if f'"{key}"' not in named] == []
