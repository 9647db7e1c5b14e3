"""Heads of the columns by which a list can be sorted."""

from django import template
from django.template.context import RequestContext
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def sort_head(context: RequestContext, key: str, title: str, css: str = "") -> SafeString:
    """{% sort_head "name" "Campaign" %}: a click sorts by this column, another turns it round."""
    now = context["sort"]
    is_sorted = now.removeprefix("-") == key
    falls = is_sorted and now.startswith("-")
    query = context["request"].GET.copy()
    query.pop("page", None)
    query["sort"] = key if falls or not is_sorted else f"-{key}"
    arrow = format_html(' <span aria-hidden="true">{}</span>', "↓" if falls else "↑")
    return format_html(
        '<th scope="col" class="{}"{}><a class="sort" href="?{}">{}{}</a></th>',
        css,
        format_html(' aria-sort="{}"', "descending" if falls else "ascending") if is_sorted else "",
        query.urlencode(),
        title,
        arrow if is_sorted else "",
    )
