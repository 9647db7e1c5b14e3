"""{% module "js/pages/list.js" %}: the bundle of a module, and links by which a browser asks at
once for the parts that it shares with others. Without them it learns of these when the bundle has
come. Every template has the tag without loading it. local/setup.py makes the bundles."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()
_IMPORT = re.compile(r"""\b(?:import|from)["'](\.[^"']+)["'];""")


@register.simple_tag
@cache
def module(path: str) -> SafeString:
    bundle = path.replace("js/", "built/", 1)
    links = ((static(each),) for each in imports_of(bundle))
    return format_html(
        '{}<script type="module" src="{}"></script>',
        format_html_join("", '<link rel="modulepreload" href="{}">\n  ', links),
        static(bundle),
    )


def imports_of(path: str) -> list[str]:
    """The static files that a bundle imports, and that these import; each once."""
    found = dict.fromkeys([path])
    waiting = [path]
    while waiting:
        new = [each for each in _imported_by(waiting.pop(0)) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)[1:]


def _imported_by(path: str) -> Iterator[str]:
    source = finders.find(path)
    text = Path(source).read_text() if source else ""
    return (normpath(join(dirname(path), each)) for each in _IMPORT.findall(text))
