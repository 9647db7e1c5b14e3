"""The WSGI entry point."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")

application = get_wsgi_application()

# A page that reads hundreds of summaries makes some 100,000 values, all of them needed until it is
# done. By default the collector looks through them, and through all that has been loaded, many
# times meanwhile: a third of such a page's time.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 50)
