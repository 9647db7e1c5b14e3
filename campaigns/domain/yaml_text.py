"""Reads YAML as JSON would have it, with the line of each value, and writes it. By YAML 1.2, as
editors do: `no` and `12:30` are texts. libyaml's own loader ends the process where a text is nested
deeply, so values are built here, of its events."""

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

MOST_NESTED = 100
# After the aliases are written out, which may refer to what has aliases itself.
MOST_VALUES, MOST_CHARACTERS = 50_000, 16_000_000
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class InvalidYaml(ValueError):
    """The text says what is wrong, `line` where, from 1."""

    def __init__(self, sentence: str, line: int = 1):
        self.line = line
        super().__init__(sentence)


class YamlDocument(NamedTuple):
    """`lines`: by path, such as plans.0.name, from 1."""

    value: Any
    lines: dict[str, int]

    def line_of(self, path: str) -> int:
        """Of the value, or of what would hold it."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> YamlDocument:
    """Raises InvalidYaml."""
    import yaml  # and libyaml, which few requests need

    try:
        return _Builder(yaml.parse(text, Loader=yaml.CSafeLoader)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = f"This is no YAML: {error.problem}. Check indentation and quotes."
        raise InvalidYaml(sentence, mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:  # a character that YAML does not have
        before = text.encode()[: error.position]
        line = before.count(b"\n") + 1
        raise InvalidYaml(f"{str(error).splitlines()[0]}.", line) from None


class _Anchor(NamedTuple):
    value: Any
    n_values: int
    n_characters: int


class _Builder:
    def __init__(self, events: Iterator[Any]):
        self._events = events
        self._lines: dict[str, int] = {}
        self._anchors: dict[str, _Anchor] = {}
        self._n_values = self._n_characters = 0

    def document(self) -> YamlDocument:
        next(self._events)  # the beginning of the stream
        if self._next_kind()[1] == "StreamEnd":
            return YamlDocument(None, {})
        value = self._value(*self._next_kind(), "", 0)
        next(self._events)
        event, kind = self._next_kind()
        if kind != "StreamEnd":
            raise InvalidYaml("Write one document, without another “---”.", _line(event))
        return YamlDocument(value, self._lines)

    def _next_kind(self) -> tuple[Any, str]:
        event = next(self._events)
        return event, type(event).__name__.removesuffix("Event")

    def _value(self, event: Any, kind: str, path: str, depth: int) -> Any:
        self._lines[path] = line = _line(event)
        if kind == "Alias":
            anchor = self._anchors.get(event.anchor)
            if anchor is None:
                raise InvalidYaml(f"*{event.anchor} names nothing above it.", line)
            self._count(line, anchor.n_values, anchor.n_characters)
            return anchor.value
        if event.tag not in (None, "!"):
            raise InvalidYaml(f"Leave out {event.tag}: tags are not read.", line)
        if depth > MOST_NESTED:
            raise InvalidYaml(f"Values are nested more than {MOST_NESTED} deep.", line)
        before = self._n_values, self._n_characters
        if kind == "Scalar":
            self._count(line, 1, len(event.value))
            value = _scalar(event, line)
        else:
            self._count(line, 1, 0)
            value = (self._list if kind == "SequenceStart" else self._object)(path, depth + 1)
        if event.anchor:
            sizes = self._n_values - before[0], self._n_characters - before[1]
            self._anchors[event.anchor] = _Anchor(value, *sizes)
        return value

    def _list(self, path: str, depth: int) -> list[Any]:
        values: list[Any] = []
        while True:
            event, kind = self._next_kind()
            if kind == "SequenceEnd":
                return values
            values.append(self._value(event, kind, _path(path, len(values)), depth))

    def _object(self, path: str, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while True:
            name, kind = self._next_kind()
            if kind == "MappingEnd":
                return values
            if kind != "Scalar":
                raise InvalidYaml("The name of a field is a text.", _line(name))
            if name.value in values:
                raise InvalidYaml(f"{name.value} is here twice.", _line(name))
            self._count(_line(name), 0, len(name.value))
            of_name = _path(path, name.value)
            values[name.value] = self._value(*self._next_kind(), of_name, depth)
            self._lines[of_name] = _line(name)

    def _count(self, line: int, n_values: int, n_characters: int) -> None:
        self._n_values += n_values
        self._n_characters += n_characters
        if self._n_values > MOST_VALUES or self._n_characters > MOST_CHARACTERS:
            raise InvalidYaml(f"There are more than {MOST_VALUES:,} values in it.", line)


def _scalar(event: Any, line: int) -> Any:
    text = event.value
    if event.style:  # in quotes, or a block
        if "\0" in text:
            raise InvalidYaml("This text has a NUL.", line)
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if len(text) < 400 and _NUMBER.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise InvalidYaml("This number is too large.", line)
        return number
    return text


def _path(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)


def _line(event: Any) -> int:
    return event.start_mark.line + 1


_WIDTH = 90


def written_yaml(value: Any) -> str:
    """What `read_yaml` reads as this value of JSON. Texts of several lines are blocks; what is
    short stands on one line."""
    import yaml

    form = {"sort_keys": False, "allow_unicode": True, "width": _WIDTH}
    return yaml.dump(value, Dumper=_dumper(), **form)


@cache
def _dumper() -> type[Any]:
    import yaml

    class Dumper(yaml.CSafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def of_text(self, text: str) -> Any:
            style = "|" if "\n" in text else None
            return self.represent_scalar("tag:yaml.org,2002:str", text, style)

        def of_number(self, number: float) -> Any:
            is_whole = number.is_integer() and abs(number) < 2**53
            return self.represent_int(int(number)) if is_whole else self.represent_float(number)

        def of_list(self, values: list[Any]) -> Any:
            is_flat = _is_short(values)
            return self.represent_sequence("tag:yaml.org,2002:seq", values, is_flat)

        def of_object(self, values: dict[str, Any]) -> Any:
            is_flat = "name" not in values and _is_short(list(values.values()))
            return self.represent_mapping("tag:yaml.org,2002:map", values, is_flat)

    for kind, write in (
        (str, Dumper.of_text),
        (float, Dumper.of_number),
        (list, Dumper.of_list),
        (dict, Dumper.of_object),
    ):
        Dumper.add_representer(kind, write)
    # Numbers of YAML 1.2 that are texts in 1.1, so that such texts get quotes.
    number = re.compile(rf"(?:{_NUMBER.pattern})\Z")
    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    return Dumper


def _is_short(values: list[Any]) -> bool:
    if any(isinstance(each, dict) or "\n" in str(each) for each in values):
        return False
    inner = [each for each in values if isinstance(each, list)]
    return not any(isinstance(one, list | dict) for each in inner for one in each) and (
        sum(len(str(each)) + 12 for each in values) < _WIDTH
    )
