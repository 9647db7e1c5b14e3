import pytest
from django.template import Context, Template


@pytest.mark.parametrize(
    ("filter_", "value", "text"),
    [
        ("ms", 29_130, "29.1\u202fms"),
        ("us", 812, "812\u202fµs"),
        ("percent", 0.0038, "0.38\u202f%"),
        ("count", 60_000, "60,000"),
        ("counted:'runs'", 1, "1 run"),
        ("counted:'runs'", 60_000, "60,000 runs"),
        ("rate", 1997.2, "1,997"),
        ("signed", -0.39, "−0.390"),
        ("signed", 10.26, "+10.3"),
        ("dash", "", "–"),
        ("dash", 0, "0"),
        ("dash", "x", "x"),
        ("ms", None, "–"),
    ],
)
def test_templates_write_numbers_as_pages_do(filter_, value, text):
    template = Template("{% load figures %}{{ value|" + filter_ + " }}")
    assert template.render(Context({"value": value})) == text
