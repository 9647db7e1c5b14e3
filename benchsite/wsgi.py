"""The WSGI entry point."""

import gc
import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application
from django.template import engines
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")


def _load_pages() -> None:
    """What Django loads with the first request, for which its reader and everybody else would wait:
    all views with their addresses, the templates, what adds to their contexts, and the API's
    schema."""
    reverse("project-list")
    for engine in (engines["jinja"], engines["fields"]):
        for name in engine.env.list_templates():
            engine.get_template(name)
        list(engine.template_context_processors)  # to ask for them imports them
    import_module("campaigns.rest.schema").described()


application = get_wsgi_application()
_load_pages()

# A page that reads hundreds of summaries makes some 100,000 values, all of them needed until it is
# done. By default the collector looks through them, and through all that has been loaded, many
# times meanwhile: a third of such a page's time.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 50)
