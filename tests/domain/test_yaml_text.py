"""YAML is read as editors read it, with lines, within bounds, whatever is sent."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.typed_request import NotUnderstood
from campaigns.domain.yaml_text import MOST_NESTED, InvalidYaml, read_yaml, written_yaml

pytestmark = pytest.mark.pure


def test_what_yaml_1_1_would_change_stays_as_it_is_written():
    text = "[no, on, 12:30, 2026-01-01, 0x1f, 010, 1_000, .nan, 1e3, -0.5, 7, ~, '7', null, true]"
    texts = ["no", "on", "12:30", "2026-01-01", "0x1f", "010", "1_000", ".nan"]
    assert read_yaml(text).value == [*texts, 1000.0, -0.5, 7, None, "7", None, True]


def test_an_alias_is_what_it_names_and_has_its_own_line():
    document = read_yaml("a: &x {b: [1]}\nc:\n  d: *x\n")
    assert document.value["c"] == {"d": {"b": [1]}}
    assert document.line_of("c.d.b") == 3


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [\n", 3, "did not find expected node content"),
        ("a:\n\t- b", 2, "found character that cannot start any token"),
        ("a: 1\nb: 2\na: 3", 3, "a is here twice"),
        ("a: *b", 1, "names nothing above it"),
        ("a: &a [*a]", 1, "names nothing above it"),
        ("a: !!python/object/apply:os.system [x]", 1, "tags are not read"),
        ("a: 1\n---\nb: 2", 2, "Write one document"),
        ("? [a]\n: 1", 1, "name of a field"),
        ('"a\\0"', 1, "NUL"),
        ("a: 1e999", 1, "too large"),
        ("\x01", 1, "control characters"),
        ("a: é\nb: é\nc: \x01\nd: 1", 3, "control characters"),
        (LAUGHS, 5, "more than 50,000 values"),
        (f"a: &a {'x' * 10_000}\nb: [{'*a, ' * 2000}]", 2, "more than"),
        ("[" * (MOST_NESTED + 2), 1, "nested more than"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, words):
    with pytest.raises(InvalidYaml, match=words) as fault:
        read_yaml(text)
    assert fault.value.line == line


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_text_without_a_value_is_none(text):
    assert read_yaml(text).value is None


def test_deep_nesting_is_refused_and_ends_no_process():
    """libyaml's loader overflows the stack."""
    with pytest.raises(NotUnderstood, match=r"line 2: Values are nested more than 100 deep\.$"):
        read_paste("openapi:\n" + "- " * 100_000)


_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"))
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
    | st.from_regex(r"[-+]?[0-9.:_eExo]{1,8}|no|on|~|null|True", fullmatch=True)
)


@given(
    st.recursive(
        _SCALARS, lambda each: st.lists(each) | st.dictionaries(_TEXTS, each), max_leaves=10
    )
)
@example("1e5")
def test_what_is_written_is_read_as_it_was(value):
    assert read_yaml(written_yaml({"a": value})).value == {"a": value}
