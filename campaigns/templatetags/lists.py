"""Lists: heads of the columns by which one can be sorted, and its pages."""

from typing import Any

from django import template
from django.template.context import RequestContext
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def sort_head(context: RequestContext, key: str, title: str, css: str = "") -> SafeString:
    """{% sort_head "name" "Campaign" %}: a click sorts by this column, another turns it round."""
    now = context["ordering"]
    is_sorted = now.removeprefix("-") == key
    falls = is_sorted and now.startswith("-")
    query = context["request"].GET.copy()
    for old in ("page", "sort"):
        query.pop(old, None)
    query["ordering"] = key if falls or not is_sorted else f"-{key}"
    arrow = format_html(' <span aria-hidden="true">{}</span>', "↓" if falls else "↑")
    return format_html(
        '<th scope="col" class="{}"{}><a class="sort" href="?{}">{}{}</a></th>',
        css,
        format_html(' aria-sort="{}"', "descending" if falls else "ascending") if is_sorted else "",
        query.urlencode(),
        title,
        arrow if is_sorted else "",
    )


@register.inclusion_tag("parts/pager.html", takes_context=True)
def pager(
    context: RequestContext,
    page: Any,
    key: str = "page",
    before: str = "Newer",
    after: str = "Older",
) -> dict[str, Any]:
    """The links to the pages on both sides. `key`: their parameter in the address, and where it is
    not "page" the part of the page that has these rows."""

    def address(name: str) -> str:
        query = context["request"].GET.copy()
        query[key] = name
        return f"?{query.urlencode()}{'' if key == 'page' else f'#{key}'}"

    links = ((page.previous, "prev", before), (page.next, "next", after))
    return {
        "page": page,
        "key": key,
        "links": [(rel, words, address(name)) for name, rel, words in links if name],
    }
