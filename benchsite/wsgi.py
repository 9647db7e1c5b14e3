"""The WSGI entry point."""

import gc
import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application
from django.template import engines
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")


application = get_wsgi_application()

# What Django loads with the first request, for which its reader and everybody else would wait: all
# views with their addresses, the templates, what adds to their contexts, and the API's schema.
reverse("project-list")
for _engine in (engines["jinja"], engines["fields"]):
    for _name in _engine.env.list_templates():
        _engine.get_template(_name)
    list(_engine.template_context_processors)  # to ask for them imports them
import_module("campaigns.rest.schema").described()

# A page that reads hundreds of summaries makes some 100,000 values, all of them needed until it is
# done. By default the collector looks through them, and through all that has been loaded, many
# times meanwhile: a third of such a page's time.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 50)
