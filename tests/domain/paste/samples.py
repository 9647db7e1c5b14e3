"""What tools copy, as they write it, and what of it is sent."""

# Each row: what is paste, the request ("METHOD address" and headers), its body, the note.
CHROME_BASH = r"""curl 'https://shop.example/api/cart?x=1&y=2' \
  -H 'accept: */*' \
  -H 'accept-language: en-US,en;q=0.9' \
  -b 'sid=abc; theme=dark' \
  -H 'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"' \
  --data-raw $'{"name":"it\'s","emoji":"\u00e9"}' \
  --compressed"""
CHROME_CMD = r"""curl ^"https://shop.example/api/cart?x=1^&y=2^" ^
  -H ^"accept: */*^" ^
  -H ^"sec-ch-ua: ^\^"Chromium^\^";v=^\^"130^\^"^" ^
  --data-raw ^"^{^\^"name^\^":^\^"50^% off^\^"^}^" ^
  --compressed"""
CHROME_CMD_LINES = 'curl ^"https://shop.example/^" ^\r\n  --data-raw ^"a=1^\r\n\r\nb=2^"'
CHROME_CMD_OLD = (
    'curl "https://shop.example/" ^\r\n  -H "accept: */*" ^\r\n'
    '  --data-raw "{\\"off\\":\\"50"^%"\\"}" ^\r\n  --compressed'
)
CHROME_POWERSHELL = """$session = New-Object Microsoft.PowerShell.Commands.WebRequestSession
$session.UserAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
$session.Cookies.Add((New-Object System.Net.Cookie("sid", "abc", "/", "shop.example")))
$session.Cookies.Add((New-Object System.Net.Cookie("theme", "dark", "/", "shop.example")))
Invoke-WebRequest -UseBasicParsing -Uri "https://shop.example/api/cart?x=1&y=2" `
-Method "POST" `
-WebSession $session `
-Headers @{
"authority"="shop.example"
  "method"="POST"
  "path"="/api/cart?x=1&y=2"
  "scheme"="https"
  "accept"="*/*"
  "accept-encoding"="gzip, deflate, br, zstd"
  "sec-ch-ua"="`"Chromium`";v=`"130`""
} `
-ContentType "application/json" `
-Body "{`"name`":`"a`nb`"}"
"""
POWERSHELL_UTF8 = (
    'Invoke-WebRequest -UseBasicParsing -Uri "https://shop.example/" `\n-Method POST `\n'
    '-Body ([System.Text.Encoding]::UTF8.GetBytes("caf$([char]233)"))'
)
POWERSHELL_POSTMAN = """$headers = New-Object "System.Collections.Generic.Dictionary[[String]]"
$headers.Add("X-Key", "k")
$headers.Add("Content-Type", "application/json")

$body = @"
{`"price`": 7}
"@

$response = Invoke-RestMethod 'https://a/items' -Method 'POST' -Headers $headers -Body $body
$response | ConvertTo-Json"""
FIREFOX_BASH = (
    "curl 'https://shop.example/' --compressed -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; "
    "rv:133.0) Gecko/20100101 Firefox/133.0' -H 'Accept-Encoding: gzip, deflate, br, zstd' "
    "-H 'Connection: keep-alive' -H 'TE: trailers' -H 'Cookie: a=1'"
)
FIREFOX_POST = (
    "curl 'https://shop.example/form' -X POST -H 'Content-Type: application/x-www-form-urlencoded' "
    "-H 'Origin: https://shop.example' --data-raw 'user=ann&words=a+b'"
)
FIREFOX_WINDOWS = (
    'curl "https://shop.example/api" -X POST -H "Accept: application/json" '
    '--data-raw "{""a"":""b c""}"'
)
FIREFOX_WINDOWS_NEW = (
    'curl ^"https://shop.example/api^" ^\n  -X POST ^\n  -H ^"Accept-Encoding: gzip, deflate, br^" '
    '^\n  -H ^"Connection: keep-alive^" ^\n  --data-raw ^"^{^\\^"a^\\^":1^}^"'
)
POSTMAN = """curl --location --request PUT 'https://shop.example/items/7' \\
--header 'Content-Type: application/json' \\
--header 'Authorization: Bearer tok' \\
--data '{
    "price": 7
}'"""
POSTMAN_FORM = """curl --location 'https://shop.example/upload' \\
--form 'title="a b"' \\
--form 'kind="x"'"""
INSOMNIA = """curl --request POST \\
  --url https://shop.example/orders \\
  --header 'Content-Type: application/json' \\
  --header 'User-Agent: insomnia/10.1.0' \\
  --data '{"id": 1}'"""
INSOMNIA_BASIC = """curl --request GET \\
  --url 'https://shop.example/orders?page=1' \\
  --cookie session=abc \\
  --header 'X-Api-Key: k'"""
FETCH_CHROME = r"""fetch("https://shop.example/api/cart?x=1&y=2", {
  "headers": {
    "accept": "*/*",
    "content-type": "application/json",
    "sec-ch-ua": "\"Chromium\";v=\"130\"",
  },
  "referrer": "https://shop.example/",
  "referrerPolicy": "strict-origin-when-cross-origin",
  "body": "{\"name\":\"caf\u00e9\"}",
  "method": "POST",
  "mode": "cors",
  "credentials": "include"
});"""
FETCH_NODE = """fetch("https://shop.example/api", {
  "headers": {
    "accept": "*/*",
    "cookie": "sid=abc",
    "Referer": "https://shop.example/"
  },
  "body": null,
  "method": "GET"
});"""
FETCH_FIREFOX = """await fetch("https://shop.example/api", {
    "credentials": "include",
    "headers": {
        "User-Agent": "Mozilla/5.0",
        "Accept": "*/*"
    },
    "method": "GET",
    "mode": "cors"
});"""
FETCH_BY_HAND = """const answer = await fetch(`https://shop.example/api`, {
  method: 'PUT', // replaces it
  headers: new Headers({'Content-Type': 'application/json'}),
  body: JSON.stringify({id: 7, tags: ['a', "b"], deep: {is: true, no: null}}),
}).then((reply) => reply.json());"""
_PARTS = (
    r"----X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
    r"----X\r\nContent-Disposition: form-data; name=\"m\"\r\n"
    r"Content-Type: application/json\r\n\r\n{}\r\n----X\r\n"
    r"Content-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\n\r\n\r\n----X--\r\n"
)
MULTIPART_COPY = f"""fetch("https://a/", {{"method": "POST",
  "headers": {{"content-type": "multipart/form-data; boundary=--X"}}, "body": "{_PARTS}"}})"""
RAW = (
    "POST /cart?id=7 HTTP/1.1\r\nHost: shop.example\r\nContent-Type: text/plain\r\n"
    "Content-Length: 5\r\nConnection: keep-alive\r\nAccept-Encoding: gzip\r\n\r\nhello"
)
RAW_BROWSER = (
    "GET /api HTTP/2\nHost: shop.example\nUser-Agent: Mozilla/5.0\nAccept: */*\n"
    "Referer: https://shop.example/\nTE: trailers\n"
)
JSON_TYPE = "Content-Type: application/json"
FORM_TYPE = "Content-Type: application/x-www-form-urlencoded"
GZIP = "Accept-Encoding: gzip, deflate"
PIPE = "what follows the pipe"
CHUNKED = "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n"
NOT_CHUNKED = "Left out: the header Transfer-Encoding."

ROWS = [
    # curl, as bash has it
    (CHROME_BASH, "POST https://shop.example/api/cart?x=1&y=2",
     [GZIP, "accept: */*", "accept-language: en-US,en;q=0.9", "Cookie: sid=abc; theme=dark",
      'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"', FORM_TYPE],
     '{"name":"it\'s","emoji":"é"}', ""),
    (FIREFOX_BASH, "GET https://shop.example/",
     ["User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
      "Accept-Encoding: gzip, deflate, br, zstd", "Cookie: a=1"],
     "", "Left out: the headers Connection and TE."),
    (FIREFOX_POST, "POST https://shop.example/form", [FORM_TYPE, "Origin: https://shop.example"],
     "user=ann&words=a+b", ""),
    (POSTMAN, "PUT https://shop.example/items/7", [JSON_TYPE], '{\n    "price": 7\n}',
     ""),
    (POSTMAN_FORM, "POST https://shop.example/upload", [],
     [{"name": "title", "value": "a b"}, {"name": "kind", "value": "x"}],
     ""),
    (INSOMNIA, "POST https://shop.example/orders", [JSON_TYPE, "User-Agent: insomnia/10.1.0"],
     '{"id": 1}', ""),
    (INSOMNIA_BASIC, "GET https://shop.example/orders?page=1",
     ["Cookie: session=abc", "X-Api-Key: k"], "", ""),
    ("curl -s http://127.0.0.1:8081/ | jq .", "GET http://127.0.0.1:8081/", [], "",
     f"Left out: {PIPE} (| jq .)."),
    ("curl -so /dev/null -w '%{http_code}\\n' http://a/ 2>&1 | grep 200", "GET http://a/", [], "",
     "Left out: the options -o and -w, what follows the command (>&1 | grep 200)."),
    ("curl http://a/ > out.html", "GET http://a/", [], "",
     "Left out: what follows the command (> out.html)."),
    ("curl http://a/?x=1&y=2", "GET http://a/?x=1&y=2", [], "", ""),
    ("curl -fsSL --retry 3 --max-time 5 http://a/", "GET http://a/", [], "",
     "Left out: the options --retry and --max-time."),
    ("curl --http2 https://127.0.0.1:8444/", "GET https://127.0.0.1:8444/", [], "", ""),
    ("curl -X PURGE http://a/x", "PURGE http://a/x", [], "", ""),
    ("curl -X GET http://a/ -d '{\"q\":1}' -H 'content-type: application/json'", "GET http://a/",
     ["content-type: application/json"], '{"q":1}', ""),
    ("curl -H 'Host: other.example' http://a/", "GET http://a/", ["Host: other.example"], "", ""),
    ("curl -H 'Host: a' http://a/", "GET http://a/", [], "", ""),
    ("curl -H 'Authorization: ApiKey k3y' http://a/", "GET http://a/",
     ["Authorization: ApiKey k3y"], "", ""),
    ("curl -H 'Authorization: AWS4-HMAC-SHA256 Credential=x' http://a/", "GET http://a/",
     ["Authorization: AWS4-HMAC-SHA256 Credential=x"], "", ""),
    ("curl -H ':authority: a' -H 'Content-Length: 3' http://a/ -d abc", "POST http://a/",
     [FORM_TYPE], "abc", ""),
    ("curl --json '{\"a\":1}' http://a/", "POST http://a/",
     [JSON_TYPE, "Accept: application/json"], '{"a":1}', ""),
    ("curl --url-query a=b\\ c http://a/x", "GET http://a/x?a=b+c", [], "", ""),
    ("curl -r 0-99 http://a/", "GET http://a/", ["Range: bytes=0-99"], "", ""),
    ("curl http://a/ --max-time=5 --retry 2 \\", "GET http://a/", [], "",
     "Left out: the options --max-time and --retry."),
    ("$ curl \\\n  http://a/ # mine\n  -X DELETE", "DELETE http://a/", [], "", ""),
    ("curl -d $'a\\x41\\101\\n' http://a/", "POST http://a/", [FORM_TYPE], "aAA\n", ""),
    ('curl -d "a\\"b\\$c" http://a/', "POST http://a/", [FORM_TYPE], 'a"b$c', ""),
    ("curl --json '{\"a\":1}' --json '[2]' http://a/", "POST http://a/",
     [JSON_TYPE, "Accept: application/json"], '{"a":1}[2]', ""),
    ("curl -H 'Content-Type:' -A '' -e ';auto' -d a http://a/", "POST http://a/", [], "a", ""),
    ("curl -d '' http://a/", "POST http://a/", [FORM_TYPE], "", ""),
    ("curl -d $'\\xc3\\xa9\\351' http://a/", "POST http://a/", [FORM_TYPE], "Ã©é", ""),
    ("curl -d $'\\303\\251' http://a/", "POST http://a/", [FORM_TYPE], "é", ""),
    ("curl -F 'm={};type=application/json' -F 'n=\"a;type=b\"' http://a/", "POST http://a/", [],
     [{"name": "m", "value": "{}", "content_type": "application/json"},
      {"name": "n", "value": "a;type=b"}], ""),
    ("curl -H 'X: 5 \u20ac' 'http://a/b c'", "GET http://a/b%20c", ["X: 5 \xe2\x82\xac"], "", ""),
    ("curl \u2013X PUT \u201chttp://a/\u201d \u2013\u2013data x", "PUT http://a/", [FORM_TYPE], "x",
     ""),
    ("curl http://a/ \\  \n  -X PUT;", "PUT http://a/", [], "", ""),
    ("curl --no-location --fail-early --xattr --libcurl x.c http://a/", "GET http://a/", [], "",
     "Left out: the option --libcurl."),
    ('TOKEN=x\ncurl -H "X: $TOKEN \\$5" http://a/`id`', "GET http://a/`id`", ["X: $TOKEN $5"], "",
     "Left out: what is before the command (TOKEN=x), the value of $TOKEN, the value of `id`."),
    ("# the list\ncurl http://a/", "GET http://a/", [], "",
     "Left out: what is before the command (# the list)."),
    ("ann@host:~$ curl http://a/", "GET http://a/", [], "", ""),
    # curl, as cmd and PowerShell have it
    ("C:\\Users\\ann>curl http://a/", "GET http://a/", [], "", ""),
    ("PS C:\\> curl.exe -d '{\\\"a\\\":1}' http://a/", "POST http://a/", [FORM_TYPE], '{"a":1}',
     ""),
    (CHROME_CMD, "POST https://shop.example/api/cart?x=1&y=2",
     [GZIP, "accept: */*", 'sec-ch-ua: "Chromium";v="130"', FORM_TYPE], '{"name":"50% off"}', ""),
    (CHROME_CMD_LINES, "POST https://shop.example/", [FORM_TYPE], "a=1\nb=2", ""),
    (CHROME_CMD_OLD, "POST https://shop.example/", [GZIP, "accept: */*", FORM_TYPE],
     '{"off":"50%"}', ""),
    (FIREFOX_WINDOWS, "POST https://shop.example/api", ["Accept: application/json", FORM_TYPE],
     '{"a":"b c"}', ""),
    (FIREFOX_WINDOWS_NEW, "POST https://shop.example/api",
     ["Accept-Encoding: gzip, deflate, br", FORM_TYPE], '{"a":1}',
     "Left out: the header Connection."),
    ("PS C:\\> curl.exe `\n  -X POST `\n  -H 'a: it''s' `\n  -d \"x`\"y\" http://a/ | more",
     "POST http://a/", ["a: it's", FORM_TYPE], 'x"y', f"Left out: {PIPE} (| more)."),
    ("C:\\> curl -H \"a: b\" \"http://a/?x=1^&y=2\" | findstr x", "GET http://a/?x=1&y=2",
     ["a: b"], "", f"Left out: {PIPE} (| findstr x)."),
    # PowerShell's own
    (CHROME_POWERSHELL, "POST https://shop.example/api/cart?x=1&y=2",
     ["User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64)", "Cookie: sid=abc; theme=dark",
      "accept: */*", "accept-encoding: gzip, deflate, br, zstd",
      'sec-ch-ua: "Chromium";v="130"', JSON_TYPE],
     '{"name":"a\nb"}', ""),
    (POWERSHELL_UTF8, "POST https://shop.example/", [FORM_TYPE], "café", ""),
    (POWERSHELL_POSTMAN, "POST https://a/items", ["X-Key: k", JSON_TYPE],
     '{"price": 7}', "Left out: what follows the command ($response | ConvertTo-Json)."),
    ("irm http://a/ -Method Post -Body (@{a=1; b='x'} | ConvertTo-Json) -ContentType text/x",
     "POST http://a/", ["Content-Type: text/x"], '{"a": 1, "b": "x"}', ""),
    ("iwr http://a/ -Verbose -OutFile x.txt", "GET http://a/", [], "",
     "Left out: the options -Verbose and -OutFile."),
    ("irm http://a/x -Method Delete -TimeoutSec 5 | ConvertTo-Json", "DELETE http://a/x", [], "",
     "Left out: the option -TimeoutSec, what follows the command (| ConvertTo-Json)."),
    ("Invoke-RestMethod -Uri http://a/ -Method Post -Body @{a='1'; b='c d'}", "POST http://a/",
     [], [["a", "1"], ["b", "c d"]], ""),
    # HTTPie
    ("http shop.example/items", "GET http://shop.example/items", [], "", ""),
    ("https PUT shop.example/items/7 price:=7 name='a b' X-Key:k",
     "PUT https://shop.example/items/7",
     [JSON_TYPE, "Accept: application/json, */*;q=0.5", "X-Key: k"],
     '{"price": 7, "name": "a b"}', ""),
    ("http -f POST :8080/login user=ann 'pass=a=b'", "POST http://localhost:8080/login", [],
     [["user", "ann"], ["pass", "a=b"]], ""),
    ("http --multipart shop.example a=1", "POST http://shop.example/", [],
     [{"name": "a", "value": "1"}], ""),
    ("http -v --follow shop.example q==a\\ b page==2 --timeout 5",
     "GET http://shop.example/?q=a+b&page=2", [], "",
     "Left out: the option --timeout."),
    ("http --verify=no DELETE https://shop.example/x | jq", "DELETE https://shop.example/x", [], "",
     "Left out: what follows the command (| jq)."),
    ("http POST a/x --raw '{\"a\": 1}'", "POST http://a/x", [JSON_TYPE], '{"a": 1}', ""),
    # a browser's console
    (FETCH_CHROME, "POST https://shop.example/api/cart?x=1&y=2",
     ["accept: */*", "content-type: application/json", 'sec-ch-ua: "Chromium";v="130"',
      "Referer: https://shop.example/"], '{"name":"café"}', ""),
    (FETCH_NODE, "GET https://shop.example/api",
     ["accept: */*", "cookie: sid=abc", "Referer: https://shop.example/"], "", ""),
    (FETCH_FIREFOX, "GET https://shop.example/api", ["User-Agent: Mozilla/5.0", "Accept: */*"],
     "", ""),
    (FETCH_BY_HAND, "PUT https://shop.example/api", [JSON_TYPE],
     '{"id":7,"tags":["a","b"],"deep":{"is":true,"no":null}}',
     "Left out: what follows the call (.then((reply) => reply.json());)."),
    ('curl "https://a/" --data-raw "^{^\\^"a^\\^":1^}" ^\n  --compressed', "POST https://a/",
     [GZIP, FORM_TYPE], '{"a":1}', ""),
    ("fetch('/x'.length ? 'https://a/' : '')", None, None, None, "cannot be read at"),
    ("fetch('https://a/', {method: 'POST', body: new URLSearchParams({a: 'b c'})})",
     "POST https://a/", [f"{FORM_TYPE};charset=UTF-8"], "a=b+c", ""),
    ("fetch('https://a/?q=' + encodeURIComponent('a b'), {method: 'POST', "
     "body: new URLSearchParams([['a', '1'], ['a', '2']])})",
     "POST https://a/?q=a%20b", [f"{FORM_TYPE};charset=UTF-8"], "a=1&a=2", ""),
    ("fetch('https://a/', {method: 'POST', body: new URLSearchParams({a: 1}).toString()})",
     "POST https://a/", ["Content-Type: text/plain;charset=UTF-8"], "a=1", ""),
    ("globalThis.fetch('https://a/', {method: 'PUT', body: JSON.stringify("
     "{a: undefined, b: -3e2, c: [undefined, 1e999]}, null, 2), headers: {'Content-Type': 'x'}})",
     "PUT https://a/", ["Content-Type: x"],
     '{\n  "b": -300,\n  "c": [\n    null,\n    null\n  ]\n}', ""),
    ("/* c */ fetch('https://a/', {method: 'POST', body: String(5)}) ", "POST https://a/",
     ["Content-Type: text/plain;charset=UTF-8"], "5", ""),
    ("return await (await fetch('https://a/')).json()", "GET https://a/", [], "",
     "Left out: what follows the call ().json())."),
    (MULTIPART_COPY, "POST https://a/", [], [
        {"name": "a", "value": "1"},
        {"name": "m", "value": "{}", "content_type": "application/json"},
     ], "Left out: the file x.png, whose content is not there."),
    # on the wire
    (RAW, "POST http://shop.example/cart?id=7",
     ["Content-Type: text/plain", "Accept-Encoding: gzip"], "hello",
     "Left out: the header Connection."),
    (RAW_BROWSER, "GET https://shop.example/api",
     ["User-Agent: Mozilla/5.0", "Accept: */*", "Referer: https://shop.example/"], "",
     "Left out: the header TE."),
    ("GET http://shop.example:81/a HTTP/1.0\n\n", "GET http://shop.example:81/a", [], "", ""),
    ("PROPFIND /dav/ HTTP/1.1\nHost: shop.example:8443\nDepth: 1\n\n<propfind/>\n",
     "PROPFIND https://shop.example:8443/dav/", ["Depth: 1"], "<propfind/>", ""),
    ("POST http://shop.example/x\nContent-Type: text/plain\n\nhi", "POST http://shop.example/x",
     ["Content-Type: text/plain"], "hi", ""),
    ("GET /x HTTP/3\nhost: shop.example\n", "GET https://shop.example/x", [], "",
     "Left out: HTTP/3 (sent as HTTP/1.1)."),
    (f"{CHUNKED}5\nhello\n7;x=y\n, world\n0\nX: y\n\n", "POST http://a/", [], "hello, world",
     NOT_CHUNKED),
    (f"{CHUNKED}7\r\nhel\r\nlo\r\n2\r\né\r\n0\r\n\r\n", "POST http://a/", [], "hel\r\nloé",
     NOT_CHUNKED),
    (f"{CHUNKED}9\nhello\n0\n\n", None, None, None, "do not have the lengths"),
    # as browsers write it
    ("http://a/x y\"<>?q=\"<a b>'{}#f", "GET http://a/x%20y%22%3C%3E?q=%22%3Ca%20b%3E%27{}", [], "",
     ""),
    ("fetch('https://a\\/x y\"<>^?q=^<>')", "GET https://a/x%20y%22%3C%3E%5E?q=^%3C%3E", [], "",
     ""),
    ("curl 'http://a/\"<>'", "GET http://a/\"<>", [], "", ""),
    ("http://a b/", None, None, None, "no spaces or line breaks"),
    # what cannot be followed
    ("GET / HTTP/1.1\nAccept: */*\n\n", None, None, None, "names no host"),
    ("http a/ 'a[b]=c'", None, None, None, "nested fields"),
    ("fetch('https://a/', {body: form})", None, None, None, "cannot be read at"),
    ("Invoke-WebRequest -Uri http://a/ -InFile x", None, None, None, "cannot be followed"),
    ("{\"a\": 1}", None, None, None, "neither a HAR file nor an OpenAPI document"),
    ("{nonsense", None, None, None, "JSON cannot be read"),
    ("openapi: 3.1.0", None, None, None, "no operations"),
    ("openapi: 3.0.3\nc: *a\n", None, None, None, "line 2: .a names nothing above it"),
    ("openapi: 3.0.3\n  x: [", None, None, None, "YAML cannot be read"),
]  # fmt: skip
