"""A pasted command as words, as bash, Windows' cmd or PowerShell have them, and what follows it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from campaigns.domain.plan.typed_request import NotUnderstood

_NOT_CLOSED = "A quotation mark of the command is not closed."
_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
}
# Bytes above 127 are often a character together.
_BYTES = re.compile(r"(?:\\x[89A-Fa-f][0-9A-Fa-f]|\\[23][0-7]{2})+")
_ANSI = re.compile(r"\\(u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.S)
# What PowerShell makes of a backtick and a letter.
_BACKTICKS = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "b": "\b", "a": "\a", "f": "\f"}
_LOOKS_LIKE_CMD = re.compile(r'\^["&|<>^\r\n%{}\\]')
_LINE_END = re.compile(r"\r?\n")
_LINE_JOINT = re.compile(r"[ \t]*\r?\n")
_CURLY = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
# What a shell would put a value in place of.
_EXPANSION = re.compile(r"(?<!\\)(?:\$(?:[A-Za-z_]\w*|\{[^}]{0,99}\}|\([^)]{0,99}\))|`[^`]{0,99}`)")
_REDIRECT = re.compile(r"<\s*([^\s<>&|;()]+)\s*")
_NEXT_OPTION = re.compile(r"\s*-")
_BLANKS = re.compile(r"[^\S\r\n]+")
_PLAIN = re.compile(r"[^\s\\'\"$|;&<>#`^]+")
_TO_ANSI_END = re.compile(r"((?:[^'\\]|\\.)*)'", re.S)
_TO_DOUBLE_END = re.compile(r'((?:[^"\\]|\\.)*)"', re.S)
_CHAR = re.compile(r"\$\(\[char\](\d{1,6})\)")
_BACKSLASHES = re.compile(r"\\+")


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """`rest`: what comes after its end, with the operator in front, such as "| jq .". `expansions`:
    what the shell would replace in its words, such as $TOKEN."""

    words: list[str]
    rest: str = ""
    expansions: tuple[str, ...] = ()

    @property
    def stdin(self) -> str:
        """The file that "< payload.json" behind it lets it read; "" without."""
        redirect = _REDIRECT.match(self.rest)
        return redirect[1] if redirect else ""

    @property
    def left_out(self) -> str:
        redirect = _REDIRECT.match(self.rest)
        return self.rest[redirect.end() :] if redirect else self.rest


Split = Callable[[str], ShellCommand]


def read_command(text: str) -> ShellCommand:
    """The first command of a text, in the dialect that it looks like. Raises NotUnderstood."""
    return split_of(text)(text)


def split_of(text: str) -> Split:
    """What splits the first command off a text in the dialect that all of it looks like. Raises
    NotUnderstood."""
    if "\x00" in text:
        raise NotUnderstood("The command contains a character that cannot be sent (NUL).")
    if _LOOKS_LIKE_CMD.search(text):
        return _split_cmd
    if re.search(r"`\r?\n", text) or (text.startswith("curl.exe") and "'" in text):
        return _split_powershell
    if "'" not in text and re.search(r'[^\s=]""|""[^\s]', text):
        return lambda line: ShellCommand(split_windows(_LINE_END.sub(" ", line)))
    return _split_bash


def with_straight_quotes(text: str) -> str:
    """What went through an editor has curly ones only."""
    return text if "'" in text or '"' in text else text.translate(_CURLY)


class _Words:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.expansions: list[str] = []
        self._word: list[str] | None = None

    @property
    def is_between(self) -> bool:
        return self._word is None

    def add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def end_word(self) -> None:
        if self._word is not None:
            self.words.append("".join(self._word))
            self._word = None

    def drops(self, words: set[str]) -> bool:
        """Take back the word under way if it is one of these; whether it was."""
        if self._word is None or "".join(self._word) not in words:
            return False
        self._word = None
        return True

    def command(self, rest: str = "") -> ShellCommand:
        self.end_word()
        return ShellCommand(self.words, rest.strip(), tuple(self.expansions))


def _split_bash(text: str) -> ShellCommand:
    words = _Words()
    at, size = 0, len(text)
    while at < size:
        ch, after = text[at], text[at + 1 : at + 2]
        if plain := _PLAIN.match(text, at):
            words.add(plain[0])
            at = plain.end()
        elif ch == "\\":
            line_end = _LINE_JOINT.match(text, at + 1)
            if after and not line_end:
                words.add(after)
            at = line_end.end() if line_end else at + 2
        elif ch == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NotUnderstood(_NOT_CLOSED)
            words.add(text[at + 1 : end])
            at = end + 1
        elif ch == "$" and after == "'":
            match = _match(_TO_ANSI_END, text, at + 2)
            words.add(_ANSI.sub(_unescape, _BYTES.sub(_decode, match[1])))
            at = match.end()
        elif ch == '"':
            match = _match(_TO_DOUBLE_END, text, at + 1)
            words.expansions += _EXPANSION.findall(match[1])
            words.add(
                re.sub(
                    r'\\(["\\$`]|\r?\n)',
                    lambda sign: "" if sign[1].endswith("\n") else sign[1],
                    match[1],
                )
            )
            at = match.end()
        elif ch in "\r\n" and words.words and not _NEXT_OPTION.match(text, at):
            return words.command(text[at:])
        elif ch.isspace():
            words.end_word()
            at = _BLANKS.match(text, at).end() if ch not in "\r\n" else at + 1
        elif ch in "|;&<>" and _ends_command(words, ch, after):
            return words.command(text[at:])
        elif ch == "#" and words.is_between:
            at = text.find("\n", at) if "\n" in text[at:] else size
        elif expansion := _EXPANSION.match(text, at):
            words.expansions.append(expansion[0])
            words.add(expansion[0])
            at = expansion.end()
        else:
            words.add(ch)
            at += 1
    return words.command()


def _ends_command(words: _Words, sign: str, after: str) -> bool:
    """A pipe does; others may be of an address that nobody quoted: ?a=1&b=2."""
    if sign in "<>":
        return words.is_between or words.drops({"1", "2", "&"})
    return sign == "|" or not after or after.isspace() or after == sign


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise NotUnderstood(_NOT_CLOSED)
    return match


def _decode(match: re.Match[str]) -> str:
    data = bytes(
        int(each[1:], 16) if each[0] == "x" else int(each, 8) for each in match[0].split("\\")[1:]
    )
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _unescape(match: re.Match[str]) -> str:
    what = match[1]
    if what[0] in "uUx" and len(what) > 1:
        return chr(min(int(what[1:], 16), 0x10FFFF))
    if what[0] in "01234567":
        return chr(int(what, 8))
    return _ESCAPES.get(what, what)


def _split_cmd(text: str) -> ShellCommand:
    """cmd takes its carets away first; the program then splits its own command line. Within plain
    quotation marks cmd would leave them, but browsers have written them there too.
    """
    line: list[str] = []
    is_quoted = is_begun = False
    at, size = 0, len(text)
    while at < size:
        ch = text[at]
        if ch == "^":
            line_end = _LINE_END.match(text, at + 1)
            # A caret joins lines; a second line end is one in the value.
            again = line_end and _LINE_END.match(text, line_end.end())
            line.append("\n" if again else "" if line_end else text[at + 1 : at + 2])
            at = (again or line_end).end() if line_end else at + 2
            is_begun = True
        elif not is_quoted and (ch in "&|<>" or (ch in "\r\n" and is_begun)):
            return ShellCommand(split_windows("".join(line)), text[at:].strip())
        else:
            is_quoted ^= ch == '"'
            is_begun = is_begun or not ch.isspace()
            line.append(ch)
            at += 1
    return ShellCommand(split_windows("".join(line)))


def split_windows(line: str) -> list[str]:
    """A command line as programs on Windows split it. Raises NotUnderstood."""
    words = _Words()
    is_quoted = False
    at, size = 0, len(line)
    while at < size:
        ch = line[at]
        if slashes := _BACKSLASHES.match(line, at):
            number, at = len(slashes[0]), slashes.end()
            if line[at : at + 1] != '"':
                words.add(slashes[0])
                continue
            words.add("\\" * (number // 2))
            if number % 2:
                words.add('"')
                at += 1
        elif ch == '"':
            words.add("")
            if is_quoted and line[at + 1 : at + 2] == '"':
                words.add('"')
                at += 1
            else:
                is_quoted = not is_quoted
            at += 1
        elif ch.isspace() and not is_quoted:
            words.end_word()
            at += 1
        else:
            words.add(ch)
            at += 1
    if is_quoted:
        raise NotUnderstood(_NOT_CLOSED)
    return words.command().words


def _split_powershell(text: str) -> ShellCommand:
    """curl.exe with lines that end in a backtick."""
    words = _Words()
    at, size = 0, len(text)
    while at < size:
        ch = text[at]
        if ch == "`" and (line_end := _LINE_END.match(text, at + 1)):
            at = line_end.end()
        elif ch in "'\"":
            string, at = powershell_string(text, at)
            words.add(string.replace('\\"', '"'))  # as the program reads it
        elif ch in "|;" or (ch == "\n" and words.words):
            return words.command(text[at:])
        elif ch.isspace():
            words.end_word()
            at += 1
        else:
            words.add(ch)
            at += 1
    return words.command()


def powershell_string(text: str, at: int) -> tuple[str, int]:
    """The string that begins at a quotation mark, and where it ends. Raises NotUnderstood."""
    mark, out = text[at], []
    at += 1
    while at < len(text):
        ch, after = text[at], text[at + 1 : at + 2]
        if ch == mark and after != mark:
            return "".join(out), at + 1
        if ch == mark:
            out.append(mark)
            at += 2
        elif ch == "`" and mark == '"':
            out.append(_BACKTICKS.get(after, after))
            at += 2
        elif ch == "$" and mark == '"' and (code := _CHAR.match(text, at)):
            out.append(chr(min(int(code[1]), 0x10FFFF)))
            at = code.end()
        else:
            out.append(ch)
            at += 1
    raise NotUnderstood(_NOT_CLOSED)


def without_ticks(text: str) -> str:
    """Without PowerShell's backticks."""
    return re.sub(r"`(.)", lambda match: _BACKTICKS.get(match[1], match[1]), text, flags=re.S)
