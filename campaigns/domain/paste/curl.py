"""curl's commands: its options, what is left out of them, and which cannot be followed.

An option that changes what is sent and cannot be followed is answered with a sentence: to ignore it
would measure something else than what was typed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from urllib.parse import quote, quote_plus

from campaigns.domain.paste.draft import MAX_REQUESTS, Omissions, RequestDraft
from campaigns.domain.paste.shells import split_of, with_straight_quotes
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.body import FORM_TYPE
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened
from campaigns.domain.typed_text import whole

_SHORT = {
    "X": "request", "H": "header", "d": "data", "u": "user", "A": "user-agent", "e": "referer",
    "b": "cookie", "k": "insecure", "G": "get", "I": "head", "o": "output", "w": "write-out",
    "s": "silent", "S": "show-error", "v": "verbose", "i": "include", "f": "fail", "g": "globoff",
    "N": "buffer", "#": "progress-bar", "L": "location", "F": "form", "T": "upload-file",
    "x": "proxy", "K": "config", "m": "max-time", "E": "cert", "0": "http1.0", "O": "remote-name",
    "J": "remote-header-name", "D": "dump-header", "c": "cookie-jar", "4": "ipv4", "6": "ipv6",
    "j": "junk-session-cookies", "R": "remote-time", "Z": "parallel", "U": "proxy-user",
    "C": "continue-at", "z": "time-cond", "r": "range", "Y": "speed-limit", "y": "speed-time",
    "V": "version", "q": "disable", ":": "next", "n": "netrc", "1": "tlsv1",
}  # fmt: skip
# They change what is sent.
_WITH_VALUE = {
    "request", "header", "data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json",
    "user", "user-agent", "referer", "cookie", "url", "oauth2-bearer", "form", "form-string",
    "resolve", "range", "url-query", "upload-file",
}  # fmt: skip
_SWITCHES = {"insecure", "get", "head", "globoff"}
_VERSIONS = {
    "http1.0": "1.0", "http1.1": "1.1", "http2": "2", "http2-prior-knowledge": "2",
}  # fmt: skip
# They change what curl prints or when it gives up: left out without a word,
_SILENT = {
    "silent", "show-error", "verbose", "include", "fail", "fail-with-body", "fail-early",
    "progress-bar", "progress-meter", "path-as-is", "basic", "keepalive", "disable", "buffer",
    "suppress-connect-headers", "parallel-immediate", "disallow-username-in-url", "clobber",
    "remove-on-error", "skip-existing", "xattr", "form-escape",
}  # fmt: skip
# or with one, as people may wait for what they do.
_TOLD = {
    "remote-name", "remote-name-all", "remote-header-name", "ipv4",
    "ipv6", "junk-session-cookies", "remote-time", "parallel", "create-dirs", "styled-output",
    "tcp-nodelay", "http3", "post301", "post302", "post303", "ssl-no-revoke", "ssl-reqd", "tlsv1",
    "tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3", "digest", "ntlm", "negotiate", "anyauth",
    "retry-connrefused", "retry-all-errors", "tr-encoding", "raw", "compressed-ssh", "http3-only",
    "alpn", "npn", "sessionid", "cert-status", "version", "proxy-insecure", "trace-time", "ssl",
    "ssl-allow-beast", "ssl-auto-client-cert", "ssl-revoke-best-effort", "false-start", "http0.9",
    "tcp-fastopen", "ignore-content-length", "use-ascii",
}  # fmt: skip
_TOLD_WITH_VALUE = {
    "output", "write-out", "max-time", "connect-timeout", "retry", "retry-delay", "retry-max-time",
    "dump-header", "cookie-jar", "max-redirs", "limit-rate", "speed-limit", "speed-time", "trace",
    "trace-ascii", "stderr", "output-dir", "keepalive-time", "max-filesize", "parallel-max",
    "noproxy", "ciphers", "tls13-ciphers", "curves", "tls-max", "proto", "proto-default",
    "expect100-timeout", "happy-eyeballs-timeout-ms", "dns-servers", "rate", "continue-at",
    "hsts", "alt-svc", "netrc-file", "time-cond", "etag-save", "etag-compare", "create-file-mode",
    "libcurl", "local-port", "proto-redir", "crlfile", "delegation", "engine", "ech",
    "dns-interface", "dns-ipv4-addr", "dns-ipv6-addr", "service-name", "cert-type", "key-type",
}  # fmt: skip
_FOLLOWED = {"compressed", "location"}
_INSTEAD = {
    "cert": "Add the client certificate to the target's endpoint.",
    "key": "Add the client certificate's key to the target's endpoint.",
    "cacert": "Add the authorities to the target's endpoint.",
    "capath": "Add the authorities to the target's endpoint.",
    "netrc": "Files on your machine cannot be read. Write -u user:password.",
    "pinnedpubkey": "Accept the certificate by its fingerprint on the target's endpoint.",
}
_ELSEWHERE = {"proxy", "connect-to", "unix-socket", "interface", "preproxy", "socks5", "socks4"}
_ELSEWHERE |= {"socks5-hostname", "socks4a", "abstract-unix-socket", "proxy-user", "doh-url"}
_BEGINS = re.compile(r"curl(?:\.exe)?\s")
_BEGINS_LINE = re.compile(r"^[ \t]*curl(?:\.exe)?\s", re.M)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FILE_KINDS = {
    "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
    "svg": "image/svg+xml", "txt": "text/plain", "htm": "text/html", "html": "text/html",
    "pdf": "application/pdf", "xml": "application/xml",
}  # fmt: skip
_LONGEST_GLOB = 2000
_GLOB = re.compile(
    r"\{([^{}]+,[^{}]*)\}|\[(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?\]|\[([a-z])-([a-z])\]", re.I
)


class _Options:
    """Those of one request; data and headers in their order. `unset`: headers that are not to be
    sent, in small letters. `stdin`: the file that the command reads from there, "" without."""

    def __init__(self, stdin: str, omissions: Omissions) -> None:
        self.draft = RequestDraft()
        self.stdin = stdin
        self.omissions = omissions
        self.urls: list[str] = []
        self.data: list[bytes] = []
        self.has_file = False
        self.upload: tuple[str, bytes] | None = None
        self.query: list[str] = []
        self.switches: set[str] = set()
        self.unset: set[str] = set()
        self.pins: list[tuple[str, str, str]] = []

    def file(self, name: str) -> bytes:
        self.has_file = True
        if name == "-":
            name = self.stdin or "the standard input"
        return self.draft.read_file(name, self.omissions)

    def content(self, value: str) -> bytes:
        """What was typed, or after an @ that of a file."""
        return self.file(value[1:]) if value.startswith("@") else whole(value).encode()


def read_curl(text: str, omissions: Omissions) -> list[TypedRequest]:
    """The requests of one curl command or of several. Raises NotUnderstood."""
    requests: list[TypedRequest] = []
    text = with_straight_quotes(text)
    split_first = split_of(text)
    while text and len(requests) <= MAX_REQUESTS:
        command = split_first(text)
        words = [word for word in command.words if word not in {"$", ">"}]
        if not words or words[0] not in {"curl", "curl.exe"}:
            break
        requests += _requests_of(words[1:], command.stdin, omissions)
        for each in command.expansions:
            omissions.other(f"the value of {shortened(each)}")
        text = command.left_out.lstrip(";&\r\n \t")
        if text and not _BEGINS.match(text):
            # On a line of its own the next command of curl is one more request.
            later = _BEGINS_LINE.search(text)
            rest = text[: later.start()] if later else command.left_out
            what = "pipe" if command.rest.startswith("|") else "command"
            omissions.other(f"what follows the {what} ({shortened(rest.strip())})")
            text = text[later.start() :].lstrip() if later else ""
    return requests


def _requests_of(words: list[str], stdin: str, omissions: Omissions) -> Iterator[TypedRequest]:
    options = _Options(stdin, omissions)
    for name, value in chain(_options(words, omissions), [("next", "")]):
        if name != "next":
            _take(options, name, value, omissions)
            continue
        if not options.urls:
            raise NotUnderstood(
                "The curl command has no address. Add it, as in curl https://shop/."
            )
        urls = options.urls
        if "globoff" not in options.switches:
            urls = islice(chain.from_iterable(map(_glob_urls, urls)), MAX_REQUESTS + 1)
        for url in urls:
            yield _request(options, url, omissions)
        options = _Options(stdin, omissions)


def _glob_urls(url: str) -> Iterator[str]:
    """The addresses that curl makes of {a,b}, [1-9:2] and [a-c]."""
    glob = _GLOB.search(url)
    if glob is None or len(url) > _LONGEST_GLOB:
        yield url
        return
    words, low, high, step, first, last = glob.groups()
    values: Iterable[str] = words.split(",") if words else ()
    if low:
        # 01 to 10 keep their width.
        values = (f"{n:0{len(low)}}" for n in range(int(low), int(high) + 1, int(step or 1) or 1))
    elif first:
        values = map(chr, range(ord(first), ord(last) + 1))
    for value in values:
        yield from _glob_urls(f"{url[: glob.start()]}{value}{url[glob.end() :]}")


def _request(options: _Options, url: str, omissions: Omissions) -> TypedRequest:
    draft, data = options.draft, b"&".join(options.data)
    headers = list(draft.headers)
    is_got = "get" in options.switches
    query = [*options.query, *([data.decode(errors="replace")] if data and is_got else [])]
    for each in query:
        url = url.partition("#")[0]
        url = f"{url}{'&' if '?' in url else '?'}{each}"
    if options.upload and url.partition("://")[2].partition("?")[0].endswith("/"):
        url += quote(options.upload[0].rpartition("/")[2])
    is_posted = bool(options.data) and not is_got
    if is_posted and not draft.value_of("content-type") and "content-type" not in options.unset:
        headers.append(("Content-Type", FORM_TYPE))
    usual = "HEAD" if "head" in options.switches else "POST" if options.data else ""
    usual = "PUT" if options.upload else usual
    result = RequestDraft(
        url=url,
        method=draft.method or ("GET" if is_got else usual),
        headers=headers,
        multipart=draft.multipart,
        user=draft.user,
        bearer=draft.bearer,
        is_insecure="insecure" in options.switches,
        http_version=draft.http_version,
        redirects=draft.redirects,
        keeps_signs=True,
        missing=draft.missing,
    )
    if options.upload or (options.has_file and is_posted):
        result.set_file(options.upload[1] if options.upload else data)
    elif is_posted:
        result.body = data.decode()
    request = result.request(omissions)
    for host, port, address in options.pins:
        if host in {request.host, "*"} and port == str(request.port):
            result.pinned = address
    return result.request(omissions) if result.pinned else request


def _options(words: list[str], omissions: Omissions) -> Iterator[tuple[str, str]]:
    """(long name, value or "") of each option that counts; an address is the option url."""
    rest = iter(words)
    for word in rest:
        if word[:1] in {"\N{EN DASH}", "\N{EM DASH}"}:  # an editor's idea of an option
            name = word.lstrip("\N{EN DASH}\N{EM DASH}-")
            word = ("--" if len(name) > 1 else "-") + name
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            if name.startswith("no-") and name[3:] in _SILENT | _TOLD | _SWITCHES | _FOLLOWED:
                if name[3:] in _TOLD:
                    omissions.option(f"--{name}")
                continue
            if name in _TOLD_WITH_VALUE:
                omissions.option(f"--{name}")
                if not equals:
                    next(rest, None)
            elif equals and name in _WITH_VALUE:
                yield name, value
            else:
                yield name, _value(rest, word) if name in _WITH_VALUE else ""
        elif word.startswith("-") and len(word) > 1 and word != "--":
            # -sSk and -XPOST: switches together, and a value without a space.
            for at, letter in enumerate(word[1:], 1):
                name = _SHORT.get(letter, f"-{letter}")
                if name in _TOLD_WITH_VALUE:
                    omissions.option(f"-{letter}")
                    if not word[at + 1 :]:
                        next(rest, None)
                    break
                if name in _WITH_VALUE:
                    yield name, word[at + 1 :] or _value(rest, word)
                    break
                yield name, ""
        elif word != "--":
            yield "url", word


def _value(rest: Iterator[str], word: str) -> str:
    value = next(rest, None)
    if value is None:
        raise NotUnderstood(f"The curl option {word} needs a value.")
    return value


def _take(options: _Options, name: str, value: str, omissions: Omissions) -> None:
    draft = options.draft
    match name:
        case "url":
            options.urls.append(value)
        case "request":
            draft.method = value
        case "header":
            headers = _header(value)
            draft.headers += headers
            if not headers:
                options.unset.add(value.partition(":")[0].strip().lower())
        case "user-agent" | "referer":
            if value := value.removesuffix(";auto"):
                draft.headers.append((name.title(), value))
        case "range":
            draft.headers.append(("Range", f"bytes={value}"))
        case "cookie":
            if "=" not in value:
                raise NotUnderstood(
                    "-b reads a file here. Write the cookies, as in -b 'name=value'."
                )
            draft.headers.append(("Cookie", value))
        case "user":
            draft.user = value
        case "oauth2-bearer":
            draft.bearer = value
        case "json":
            # Several are one document, without a sign between them.
            options.data[-1:] = [b"".join([*options.data[-1:], options.content(value)])]
            for each, kind in (
                ("Content-Type", "application/json"),
                ("Accept", "application/json"),
            ):
                if not draft.value_of(each.lower()):
                    draft.headers.append((each, kind))
        case "data" | "data-ascii":
            content = options.content(value)
            # As curl reads a file that is no binary one.
            options.data.append(
                content.translate(None, b"\r\n\0") if value.startswith("@") else content
            )
        case "data-binary":
            options.data.append(options.content(value))
        case "data-raw":
            options.data.append(whole(value).encode())
        case "data-urlencode":
            options.data.append(_url_pair(value, options).encode())
        case "url-query":
            options.query.append(value[1:] if value.startswith("+") else _url_pair(value, options))
        case "upload-file":
            options.upload = value, options.file("-" if value == "." else value)
        case "form":
            _add_field(options, value)
        case "form-string":
            draft.add_part(*_field_pair(value), "", "", omissions)
        case "resolve":
            options.pins.append(_pin(value))
        case "location" | "location-trusted":
            draft.redirects = "all"
            if name == "location-trusted":
                omissions.other("credentials for other hosts (--location-trusted)")
        case "compressed":
            if not draft.value_of("accept-encoding"):
                draft.headers.insert(0, ("Accept-Encoding", "gzip, deflate"))
        case _ if name in _VERSIONS:
            draft.http_version = _VERSIONS[name]
        case _ if name in _SWITCHES:
            options.switches.add(name)
        case _ if name in _TOLD:
            omissions.option(f"--{name}")
        case _ if name not in _SILENT:
            raise NotUnderstood(_why_not(name))


def _why_not(name: str) -> str:
    option = name if name.startswith("-") else f"--{name}"
    if name in _INSTEAD:
        return f"{option}: {_INSTEAD[name]}"
    if name in _ELSEWHERE:
        return f"{option} would send the request elsewhere. Enter the address to measure itself."
    return f"The curl option {option} is not understood. Leave it out if the request allows it."


def _header(text: str) -> list[tuple[str, str]]:
    """ "Name: value"; "Name;" is empty, and "Name:" takes out what curl itself would send."""
    name, colon, value = text.partition(":")
    if not name and colon:  # :authority: shop, as browsers show it
        name, colon, value = value.partition(":")
        name = f":{name}"
    if colon:
        return [(name.strip(), value.strip())] if value.strip() else []
    if text.endswith(";"):
        return [(text[:-1].strip(), "")]
    raise NotUnderstood(f"{shortened(text)} is not a header; write it as in -H 'Name: value'.")


def _url_pair(value: str, options: _Options) -> str:
    name, equals, content = value.partition("=")
    if "@" in name:
        name, _, path = value.partition("@")
        content = quote_plus(options.file(path))
        return f"{name}={content}" if name else content
    if not equals:
        return quote_plus(value)
    return f"{name}={quote_plus(content)}" if name else quote_plus(content)


def _field_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise NotUnderstood(f"{shortened(text)} is not a field; write it as in -F name=value.")
    return name, value


def _add_field(options: _Options, text: str) -> None:
    """name=value;type=text/plain, name=@file,file;filename=other.png, or name=<file for its text"""
    name, value = _field_pair(text)
    sign = value[:1] if value.startswith(("@", "<")) else ""
    value = value.removeprefix(sign)
    string = _QUOTED.match(value)
    plain, *more = (value[string.end() :] if string else value).split(";")
    if not sign and not string:  # of a text only these end it
        plain, _, kind = value.partition(";type=")
        more = [f"type={kind}"]
    value = re.sub(r"\\(.)", r"\1", string[1]) if string else plain
    attributes = dict(each.strip().partition("=")[::2] for each in more)
    kind, filename = attributes.get("type", ""), attributes.get("filename", "").strip('"')
    if sign == "<":
        try:
            value = options.file(path := value).decode()
        except UnicodeDecodeError:
            raise NotUnderstood(
                f"{shortened(path)} is not a text in UTF-8; send it with @."
            ) from None
    if sign != "@":
        options.draft.add_part(name, value, "", kind, options.omissions)
        return
    for path in [value] if string else value.split(","):
        usual = _FILE_KINDS.get(path.rpartition(".")[2].lower(), "")
        options.draft.add_file(name, options.file(path), filename or path, kind or usual)


def _pin(text: str) -> tuple[str, str, str]:
    """host:port:address, of which the first address counts."""
    host, _, rest = text.lstrip("+").partition(":")
    port, _, addresses = rest.partition(":")
    address = addresses.split(",")[0].strip("[]")
    if not is_address(address):
        raise NotUnderstood(
            f"--resolve {shortened(text)}: write it as in shop.example:443:10.0.0.5."
        )
    return host.lower(), port, address
