"""Markdown of people as HTML that is safe to show: no HTML of theirs, no images, nothing that loads
or runs anything."""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt

_TAGS = {"p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"}
_TAGS |= {"h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
_READER = MarkdownIt("commonmark", {"html": False, "breaks": True})
_READER.enable(["table", "strikethrough"]).disable("image")
_TOP = 2  # the level of the heading above notes


@lru_cache(maxsize=1000)
def html_of(text: str) -> str:
    tokens = _READER.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(_TOP + int(token.tag[1]), 6)}"
    made = _READER.renderer.render(tokens, _READER.options, {})
    return nh3.clean(
        made,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
