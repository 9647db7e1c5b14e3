"""What people paste, as the tools write it: what is sent of it, and what the note says is not."""

import json

import pytest

from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.typed_request import FilesMissing, NotUnderstood, require_files
from tests.domain.paste.samples import PIPE, ROWS


def test_it_is_sent_as_it_was_copied_and_the_note_says_what_is_not():
    for text, line, headers, body, note in ROWS:
        if line is None:
            with pytest.raises(NotUnderstood, match=note):
                read_paste(text)
            continue
        paste = read_paste(text)
        (request,) = paste.requests
        assert f"{request.method} {request.address}" == line
        assert [f"{name}: {value}" for name, value in request.headers] == headers
        step = request.step
        assert (
            next(filter(None, (step.get("form"), step.get("multipart"), step["body"])), "") == body
        )
        assert paste.note == note
        assert Plan.from_json({"steps": [step], "load": {"model": "sequential", "requests": 1}})


def test_a_version_an_address_and_credentials_are_kept_apart():
    text = "curl -k --http2 --resolve shop.example:443:10.0.0.5 -u ann:s3 https://shop.example/"
    (request,) = read_paste(text).requests
    assert (request.http_version, request.pinned, request.is_insecure) == ("2", "10.0.0.5", True)
    assert (request.auth, request.secret) == ({"kind": "basic", "user": "ann"}, "s3")
    (bearer,) = read_paste("https -A bearer -a tok shop.example/").requests
    assert (bearer.auth["kind"], bearer.secret) == ("bearer", "tok")


def test_several_commands_are_several_requests():
    bash = "curl 'http://a/1' ;\ncurl 'http://a/2' \\\n  -X POST ;\ncurl 'http://a/3'"
    cmd = 'curl "http://a/1" &\r\ncurl ^"http://a/2^" ^\r\n -X POST &\r\ncurl "http://a/3"'
    in_one = "curl http://a/1 --next -X POST http://a/2 --next http://a/3"
    fetches = "fetch('http://a/1');\nfetch('http://a/2', {method: 'POST'});fetch('http://a/3')"
    for text in (bash, cmd, in_one, fetches):
        paste = read_paste(text)
        lines = [f"{each.method} {each.path}" for each in paste.requests]
        assert (lines, paste.note) == (["GET /1", "POST /2", "GET /3"], "")


HAR = {
    "log": {
        "entries": [
            {
                "request": {
                    "method": "GET",
                    "url": "https://shop.example/",
                    "httpVersion": "h2",
                    "headers": [
                        {"name": ":authority", "value": "shop.example"},
                        {"name": "accept", "value": "text/html"},
                        {"name": "accept-encoding", "value": "gzip, br"},
                    ],
                }
            },
            {"request": {"method": "GET", "url": "data:image/png;base64,AA==", "headers": []}},
            {
                "request": {
                    "method": "POST",
                    "url": "https://shop.example/login",
                    "httpVersion": "HTTP/1.1",
                    "headers": [
                        {"name": "Host", "value": "shop.example"},
                        {"name": "Connection", "value": "keep-alive"},
                    ],
                    "postData": {
                        "mimeType": "application/x-www-form-urlencoded",
                        "params": [{"name": "user", "value": "ann"}],
                    },
                }
            },
            {"request": {"method": "CONNECT", "url": "https://shop.example/", "headers": []}},
            {
                "request": {
                    "method": "POST",
                    "url": "https://shop.example/up load",
                    "httpVersion": "h3",
                    "postData": {
                        "mimeType": "multipart/form-data; boundary=X",
                        "params": [{"name": "f", "fileName": "f.txt", "value": "hi"}],
                    },
                }
            },
            {"request": {"method": "GET", "url": "https://ads.example/x", "headers": []}},
        ]
    }
}


def test_the_entries_of_a_har_file_are_requests():
    paste = read_paste(json.dumps(HAR))
    first, login, upload, ads = paste.requests
    assert upload.path == "/up%20load"
    assert upload.multipart == ({"name": "f", "file": "aGk=", "filename": "f.txt"},)
    assert first.headers == (("accept", "text/html"), ("accept-encoding", "gzip, br"))
    assert first.http_version == "2"
    assert (login.method, login.form) == ("POST", (("user", "ann"),))
    assert ads.host == "ads.example"
    note = (
        "Left out: the header Connection, HTTP/3 (sent as HTTP/1.1), "
        "2 entries of other protocols than http and https."
    )
    assert paste.note == note


ITEM = {"$ref": "#/components/schemas/Item"}
OPENAPI = {
    "openapi": "3.1.0",
    "servers": [
        {"url": "https://{region}.shop.example/v1/", "variables": {"region": {"default": "eu"}}}
    ],
    "paths": {
        "/items/{id}": {
            "parameters": [{"name": "id", "in": "path", "schema": {"type": "integer"}}],
            "get": {
                "parameters": [
                    {"name": "lang", "in": "query", "required": True, "schema": {"enum": ["en"]}},
                    {"name": "page", "in": "query", "schema": {"type": "integer"}},
                    {"name": "X-Key", "in": "header", "required": True, "example": "k"},
                ]
            },
            "delete": {},
        },
        "/items": {"post": {"requestBody": {"content": {"application/json": {"schema": ITEM}}}}},
    },
    "components": {
        "schemas": {
            "Item": {
                "allOf": [
                    {"type": "object", "properties": {"name": {"example": "pen"}}},
                    {
                        "properties": {
                            "id": {"type": "integer", "readOnly": True},
                            "made": {"type": "string", "format": "date"},
                            "tags": {"type": "array", "items": {"type": ["null", "string"]}},
                            "parent": ITEM,
                        }
                    },
                ]
            }
        }
    },
}


def test_the_operations_of_an_openapi_document_are_requests_with_examples():
    read, delete, create = read_paste(json.dumps(OPENAPI)).requests
    assert read.address == "https://eu.shop.example/v1/items/1?lang=en"
    assert read.headers == (("X-Key", "k"),)
    assert (delete.method, delete.path) == ("DELETE", "/v1/items/1")
    item = json.loads(create.body)
    assert (item["name"], item["made"], item["tags"]) == ("pen", "2026-01-31", ["string"])
    assert "id" not in item
    assert item["parent"]["name"] == "pen"


def put_of(kind, name):
    return {
        "requestBody": {"content": {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}
    }


def test_parameters_and_bodies_are_sent_in_their_style():
    array = {"type": "array", "items": {"type": "integer"}}
    rows = [
        ("ids", "query", array, {}), ("few", "query", array, {"explode": False}),
        ("by", "query", {"properties": {"a": {"const": 1}}}, {"style": "deepObject"}),
        ("sid", "cookie", {"type": "string"}, {}), ("X-Few", "header", array, {}),
    ]  # fmt: skip
    parameters = [
        {"name": name, "in": place, "schema": schema, "required": True, **more}
        for name, place, schema, more in rows
    ]
    form = {"properties": {"f": {"type": "string", "format": "binary"}, "n": {"const": 1}}}
    document = {
        **OPENAPI,
        "security": [{"key": []}],
        "paths": {
            "/a b/{what}": {
                "parameters": [{"name": "ids", "in": "query", "required": True, "example": 9}],
                "get": {"parameters": parameters, "servers": [{"url": "http://b.example"}]},
            },
            "/up": {"$ref": "#/components/up"},
        },
        "components": {"schemas": {"Up": form}, "up": {"put": put_of("multipart/form-data", "Up")}},
    }
    paste = read_paste(json.dumps(document))
    get, put = paste.requests
    assert get.address == "http://b.example/a%20b/1?ids=1&few=1&by%5Ba%5D=1"
    assert get.headers == (("X-Few", "1"), ("Cookie", "sid=string"))
    assert [set(part) for part in put.multipart] == [
        {"name", "file", "filename"},
        {"name", "value"},
    ]
    assert paste.note == "Left out: credentials (key)."


def test_a_swagger_document_names_its_host_in_its_own_way():
    document = {
        "swagger": "2.0",
        "host": "shop.example:8080",
        "schemes": ["http"],
        "basePath": "/v2",
        "paths": {
            "/login": {
                "post": {
                    "parameters": [
                        {"name": "user", "in": "formData", "required": True, "type": "string"}
                    ]
                }
            }
        },
    }
    (login,) = read_paste(json.dumps(document)).requests
    assert login.address == "http://shop.example:8080/v2/login"
    assert login.form == (("user", "string"),)


def check_value(parameter, value):
    operation = {"get": {"parameters": [parameter]}}
    (request,) = read_paste(json.dumps({**OPENAPI, "paths": {"/": operation}})).requests
    assert request.path.endswith(f"/?q={value}"), parameter


def test_the_values_of_a_document_are_its_examples_defaults_and_least_numbers():
    for schema, value in [
        ({"type": "integer", "minimum": 3}, "3"),
        ({"type": "string", "enum": ["b", "c"]}, "b"),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"oneOf": [{"type": "string", "example": "f"}]}, "f"),
    ]:
        parameter = {"name": "q", "in": "query", "required": True, "schema": schema}
        check_value(parameter, value)
    by_name = {"name": "q", "in": "query", "required": True, "examples": {"one": {"value": "g"}}}
    by_content = {"name": "q", "in": "query", "required": True}
    by_content["content"] = {"application/json": {"schema": {"const": 7}}}
    check_value(by_name, "g")
    check_value(by_content, "7")
    body = {"in": "body", "name": "b", "schema": {"properties": {"n": {"type": "integer"}}}}
    swagger = {"swagger": "2.0", "host": "a", "paths": {"/": {"post": {"parameters": [body]}}}}
    (request,) = read_paste(json.dumps(swagger)).requests
    assert set(json.loads(request.step["body"])) == {"n"}
    binary, table = {"type": "string", "format": "binary"}, {"properties": {"n": {"const": 1}}}
    for kind, schema, note in [
        ("application/octet-stream", binary, ""),
        ("application/xml", table, "Left out: a body of application/xml."),
    ]:
        post = {"requestBody": {"content": {kind: {"schema": schema}}}}
        paste = read_paste(json.dumps({**OPENAPI, "paths": {"/": {"post": post}}}))
        (request,) = paste.requests
        assert (paste.note, bool(request.body_file)) == (note, not note)


@pytest.mark.long
def test_hostile_text_is_refused_soon():
    deep = {"properties": {f"p{n}": {"$ref": "#/components/schemas/Deep"} for n in range(30)}}
    document = {**OPENAPI, "paths": {"/": {"put": put_of("application/json", "Deep")}}}
    document["components"] = {"schemas": {"Deep": deep}}
    assert len(read_paste(json.dumps(document)).requests[0].body) < 100_000
    document["paths"] = {f"/{n}": document["paths"]["/"] for n in range(1000)}
    with pytest.raises(NotUnderstood, match="more than 200,000 values"):
        read_paste(json.dumps(document))
    assert len(read_paste("curl 'http://a/[1-9][1-9][1-9]'").requests) == 729
    for text in [
        "curl '" + "\\" * 200_000, "fetch(" + "[" * 5000, "{" * 100_000, "$ " * 200_000,
        "curl http://a/[1-999999999]", "curl http://a/" + "{a,b}" * 300,
        "###\n" * 200_000, "< {%\n" * 100_000, "GET http://a/" + " " * 900_000 + "b",
        "curl http://a/ | x\n" * 10_000, "/**/" * 50_000 + "x", 'curl "' + "$(" * 100_000 + '"',
    ]:  # fmt: skip
        with pytest.raises(NotUnderstood):
            read_paste(text)


def test_a_file_is_asked_for_by_its_name_and_sent_as_the_command_would():
    png = b"\x89PNG"
    for text, names, body in [
        ("curl -d @dir/p.json -d x=1 http://a/", ["dir/p.json"], "ab&x=1"),
        ("curl --data-binary @p.json http://a/", ["p.json"], "a\r\nb\n"),
        ("curl --json '[' --json @p.json http://a/", ["p.json"], "[a\r\nb\n"),
        ("curl --data-urlencode n@p.json http://a/", ["p.json"], "n=a%0D%0Ab%0A"),
        ("curl -T p.json http://a/up/", ["p.json"], "a\r\nb\n"),
        ("curl --data-binary @- http://a/ < p.json", ["p.json"], "a\r\nb\n"),
        ("http a/ < p.json", ["p.json"], "a\r\nb\n"),
        ("http a/ @p.json", ["p.json"], "a\r\nb\n"),
        ("http a/ note=@p.json", ["p.json"], '{"note": "a\\r\\nb\\n"}'),
        ("POST http://a/\nX: y\n\n< ./p.json\n###\n", ["./p.json"], "a\r\nb\n"),
    ]:
        paste = read_paste(text)
        assert (list(paste.files), list(paste.requests[0].missing)) == (names, names)
        with pytest.raises(FilesMissing):
            require_files(paste.requests)
        (request,) = read_paste(text, {names[0]: b"a\r\nb\n"}).requests
        assert (request.body, request.missing, paste.note) == (body, (), "")
    (upload,) = read_paste("curl -T p http://a/up/", {"p": png}).requests
    assert (upload.method, upload.path, upload.body_file) == ("PUT", "/up/p", "iVBORw==")
    (literal,) = read_paste("curl -d @p http://a/", {"p": b"${x}"}).requests
    assert (literal.body, literal.body_file) == ("", "JHt4fQ==")


def test_files_of_a_form_keep_their_names_and_types():
    text = "curl -F 'f=@dir/me.png' -F 'g=@a,b;type=x/y;filename=c' -F 'n=<note' http://a/"
    files = {"dir/me.png": b"\x89", "a": b"1", "b": b"2", "note": b"hi"}
    (request,) = read_paste(text, files).requests
    assert [
        (each["name"], each.get("filename"), each.get("content_type"), each.get("value"))
        for each in request.multipart
    ] == [
        ("f", "me.png", "image/png", None),
        ("g", "c", "x/y", None),
        ("g", "c", "x/y", None),
        ("n", None, None, "hi"),
    ]
    (httpie,) = read_paste("http a/ photo@me.png x=1", {"me.png": b"1"}).requests
    assert [set(each) - {"name"} for each in httpie.multipart] == [
        {"file", "filename", "content_type"},
        {"value"},
    ]


HTTP_FILE = """@host = https://shop.example
@base={{host}}/v1
# ours

### Log in
POST {{base}}/login HTTP/1.1
Content-Type: application/json

{
### a heading of the body
  "user": "ann"
}

> {% client.global.set("token", response.body.token); %}

###
# @name list
GET {{base}}/items
    ?page=2
    &limit=10
Authorization: Bearer {{token}}
###
GET /health
Host: shop.example
Authorization: Basic ann secret

>> health.json
### Talk
WEBSOCKET wss://shop.example/talk
###
https://shop.example/plain
###
"""


def test_the_requests_of_a_http_file_have_its_names_and_variables():
    paste = read_paste(HTTP_FILE)
    assert [(each.label, each.method, each.address) for each in paste.requests] == [
        ("Log in", "POST", "https://shop.example/v1/login"),
        ("list", "GET", "https://shop.example/v1/items?page=2&limit=10"),
        ("", "GET", "http://shop.example/health"),
        ("", "GET", "https://shop.example/plain"),
    ]
    login, _, health, _ = paste.requests
    assert login.body == '{\n### a heading of the body\n  "user": "ann"\n}'
    assert (health.user, health.secret) == ("ann", "secret")
    assert paste.note == (
        "Left out: its scripts, the value of {{token}}, where replies are stored, "
        "the WEBSOCKET request."
    )


def test_variables_that_grow_without_end_are_refused():
    lines = "".join(f"@v{n}={{{{v{n + 1}}}}}{{{{v{n + 1}}}}}\n" for n in range(8))
    text = f"{lines}@v8={'x' * 100_000}\nGET http://a/{{{{v0}}}}\n"
    with pytest.raises(NotUnderstood, match="too long"):
        read_paste(text)


def test_the_text_of_a_request_is_read_as_the_same_or_asks_for_its_file():
    for text in [
        "curl -F 'm={\"a\": \"\\\\\"};type=application/json' --form-string 'o=@x;type=y' http://a/",
        "curl -X PUT -H 'X;' -H 'Y: 5 €' --json '[1]' --http2 -L -k https://a/?b=%20",
    ]:
        (request,) = read_paste(text).requests
        (again,) = read_paste(request.text).requests
        assert again == request
    part = {"name": "f", "fileName": "f.txt", "value": "hi"}
    body = {"mimeType": "multipart/form-data; boundary=X", "params": [part]}
    har = {"log": {"entries": [{"request": {"url": "http://a/", "postData": body}}]}}
    for text in [har, {"log": {"entries": [{"request": BINARY}]}}]:
        (request,) = read_paste(json.dumps(text)).requests
        assert read_paste(request.text).requests[0].missing


BINARY = {"method": "PUT", "url": "http://a/", "postData": {"mimeType": "a/b", "text": "\0"}}


def test_what_no_step_can_have_is_a_file_or_refused():
    """As recorded bodies of any bytes may have it."""
    for text, step in [
        ("a\0b\ud83d", {"body": "", "body_file": "YQBi77+9"}),
        ("half \ud83d", {"body": "half \ufffd"}),
    ]:
        body = {"mimeType": "application/x-protobuf", "text": text}
        request = {"method": "POST", "url": "http://a/", "postData": body}
        har = {"log": {"entries": [{"request": request}]}}
        (read,) = read_paste(json.dumps(har)).requests
        assert step.items() <= read.step.items()
    for text in ["curl http://a/ -d '\0'", "fetch('https://a/\\0')", "http a/ x=\0"]:
        with pytest.raises(NotUnderstood, match="NUL"):
            read_paste(text)


ODD = [
    {"paths": {"/": {"get": {"parameters": 5}}}},
    {"paths": {"/": {"get": {"parameters": [{"name": {}, "in": "query", "required": True}]}}}},
    {"paths": {"/": {"get": {"security": 5}}}, "schemes": 5, "consumes": True},
    {"paths": {"/": {"put": {"requestBody": {"content": {"text/x": {"schema": {"type": {}}}}}}}}},
]


def test_a_document_that_is_not_what_it_says_is_read_as_far_as_it_is():
    for odd in ODD:
        (request,) = read_paste(json.dumps({**OPENAPI, **odd})).requests
        assert request.host == "eu.shop.example"


def test_the_addresses_that_curl_makes_of_one_are_requests():
    for text, paths in [
        ("curl 'http://a/{x,y}[9-11:2]'", ["/x9", "/x11", "/y9", "/y11"]),
        ("curl 'http://a/[a-b][01-02]'", ["/a01", "/a02", "/b01", "/b02"]),
        ("curl -g 'http://a/{x,y}?b[0]=1'", ["/{x,y}?b[0]=1"]),
    ]:
        assert [each.path for each in read_paste(text).requests] == paths


def test_a_pipe_ends_its_own_line_only():
    paste = read_paste("curl shop.example/a -d x=1 | jq .\ncurl shop.example/b\necho done")
    assert [(each.method, each.path) for each in paste.requests] == [("POST", "/a"), ("GET", "/b")]
    assert paste.note == f"Left out: {PIPE} (| jq .), what follows the command (echo done)."


def test_redirects_are_followed_where_the_command_does():
    for text, redirects in [
        ("curl http://a/", ""),
        ("curl -L http://a/", "all"),
        ("curl -sSL --max-redirs 3 http://a/", "all"),
        ("curl --location-trusted -u ann:x http://a/", "all"),
        ("curl -L --http2 https://a/", "all"),
        ("http --follow a", "all"),
    ]:
        request = read_paste(text).requests[0]
        assert request.redirects == redirects
        assert (" -L" in request.text) == bool(redirects)


def entry(url, **more) -> dict:
    return {"log": {"entries": [{"request": {"method": "GET", "url": url, **more}}]}}


# What is wrong with a paste, and how its refusal begins.
REFUSED = {
    "fetch()": "This call of fetch cannot be read at )",
    "fetch('http://a/', {signal: x})": "This call of fetch cannot be read at x})",
    "fetch('http://a/', {headers: {a: 'b'})": "This call of fetch cannot be read at )",
    "fetch('http://a/', {body: [1, 2})": "This call of fetch cannot be read at })",
    "fetch('http://a/' + )": "This call of fetch cannot be read at )",
    "fetch('http://a/'": "This call of fetch cannot be read at its end",
    "fetch(7)": "Write it as in fetch(",
    "fetch('http://a/', {agent: 'x'})": "fetch has no option 'agent'",
    "fetch('http://a/', {headers: 7})": "Write the headers of fetch as names",
    "fetch('http://a/', {body: 7})": "The body of fetch is no text",
    "fetch('http://a/', {body: new URLSearchParams(7)})": "Write URLSearchParams as names",
    "Invoke-WebRequest -Uri $url": "-Uri: the paste does not say what its variable is",
    "Invoke-WebRequest http://a/ -Method": "-Method has no value",
    "Invoke-WebRequest http://a/ -Proxy x": "-Proxy cannot be followed",
    'Invoke-WebRequest http://a/ -Headers @{ "a" "b" }': 'This PowerShell cannot be read at "b" }',
    'Invoke-WebRequest http://a/ -Headers @{ "a" =': "This PowerShell cannot be read at its end",
    "http shop.example a": "a is not an item; write it as in name=value",
    "http shop.example a:=x{": "a:=x{ is no JSON after :=",
    "http --nonsense shop.example": "The option --nonsense is not understood",
    "http -A digest -a ann:s shop.example": "Credentials of the kind digest cannot be sent",
    "http --verify=no": "The command has no address",
    "curl http://a/ -F nonsense": "nonsense is not a field; write it as in -F name=value",
    "curl http://a/ -H nonsense": "nonsense is not a header; write it as in -H",
    "curl http://a/ --interface eth0": "--interface would send the request elsewhere",
    "curl http://a/ --nonsense": "The curl option --nonsense is not understood",
    "curl 'http://a/": "A quotation mark of the command is not closed",
    "GET / HTTP/1.1\nHost: a\nnonsense": "nonsense is not a header",
    "GET / HTTP/1.1\n\n": "The request names no host",
    json.dumps({"log": {"entries": []}}): "This HAR file has no entries",
    json.dumps({"log": {"entries": [{}]}}): "This HAR file has an entry without a request",
    json.dumps(entry("ftp://a/")): "This HAR file has no request of http or https",
    '{"openapi": "3.0.0"}': "This OpenAPI document has no operations",
    '{"a": 1}': "This is neither a HAR file nor an OpenAPI document",
    "openapi:\n" * 120_000: "This has 1,07",
    "http --session x a/": "--session cannot be followed",
    "curl http://a/ -F 'n=<p'": "p is not a text in UTF-8; send it with @",
    "curl http://a/ -d " + "x" * 1_100_000: "This has 1,100,0",
}


def test_what_cannot_be_followed_is_refused_by_its_name():
    for text, why in REFUSED.items():
        with pytest.raises(NotUnderstood) as refusal:
            read_paste(text, {"p": b"\xff"})
        assert str(refusal.value).startswith(why), text


def test_the_options_of_powershell_and_curl_keep_their_meaning():
    text = (
        'Invoke-WebRequest http://a/ -UserAgent "ann" -HttpVersion 2.0 -SkipCertificateCheck -X 7'
    )
    paste = read_paste(text)
    (request,) = paste.requests
    assert (request.headers, request.http_version) == ((("User-Agent", "ann"),), "2")
    assert (request.is_insecure, paste.note) == (True, "Left out: the option -X.")
    for data, body in [("a b=c d", "a b=c+d"), ("=c d", "c+d"), ("c d", "c+d")]:
        (request,) = read_paste(f"curl http://a/ --data-urlencode '{data}'").requests
        assert request.step["body"] == body
    (request,) = read_paste("fetch(new URL('/list', 'http://a/x'))").requests
    assert request.address == "http://a/list"


def test_what_a_command_says_besides_is_followed_or_named_in_the_note():
    for text, line, headers, body, note in [
        ("curl http://a/ --no-progress-meter --no-sessionid", "GET /", "", "", "--no-sessionid"),
        ("curl --request=PUT --data=x http://a/", "PUT /", "Content-Type", "x", ""),
        ("curl http://a/ --retry=3 --path-as-is", "GET /", "", "", "--retry"),
        ("curl http://a/ -H 'Cookie: a=1' -b 'b=2'", "GET /", "Cookie: a=1; b=2", "", ""),
        ("curl http://a/ -F 'n=<p'", "POST /", "", "", ""),
        ("http --follow --timeout=3 a/ q==1", "GET /?q=1", "", "", "--timeout"),
        ("http --offline a/ X:$TOKEN", "GET /", "", "", "--offline"),
        ("POST http://a/\nContent-Length: 2\n\nhi\n", "POST /", "", "hi", ""),
    ]:
        paste = read_paste(text, {"p": b"hi"})
        (request,) = paste.requests
        assert f"{request.method} {request.address.removeprefix('http://a')}" == line, text
        assert headers in "; ".join(f"{name}: {value}" for name, value in request.headers), text
        assert note in paste.note, text
        assert (request.step["body"], bool(note)) == (body, bool(paste.note)), text
