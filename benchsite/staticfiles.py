"""Sources and names of static files."""

from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import AppDirectoriesFinder, BaseFinder, FileSystemFinder
from django.core.files.storage import FileSystemStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# An allow-list: whole packages would take half a minute and 60 MB to collect.
NODE_FILES = {
    "lib/inter.woff2": "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    "lib/inter-license.txt": "@fontsource-variable/inter/LICENSE",
}


class AppFilesFinder(AppDirectoriesFinder):
    """Leaves out what no page uses and takes most of the time to collect: Redoc, the pages of REST
    framework, which answers in JSON only, allauth's scripts, select2's languages, source
    maps."""

    def list(self, ignore_patterns):
        left_out = ("redoc", "rest_framework", "account", "mfa", "i18n", "*.map")
        return super().list([*(ignore_patterns or ()), *left_out])


class OwnFilesFinder(FileSystemFinder):
    """Leaves out the sources of the bundles."""

    def list(self, ignore_patterns):
        return super().list([*(ignore_patterns or ()), "js"])


class NodeModulesFinder(BaseFinder):
    """Serves the few files of npm packages that pages use, as /static/lib/…"""

    def __init__(self, *args, **kwargs):
        self.root = Path(settings.BASE_DIR) / "node_modules"
        self.storage = _NpmStorage(self.root)

    def check(self, **kwargs):
        return []

    def find(self, path, find_all=False, **kwargs):
        path_of_module = NODE_FILES.get(path)
        if path_of_module is None or not (self.root / path_of_module).exists():
            return [] if find_all else None
        return [str(self.root / path_of_module)] if find_all else str(self.root / path_of_module)

    def list(self, ignore_patterns):
        for name, source in NODE_FILES.items():
            if (self.root / source).exists():
                yield name, self.storage


class _NpmStorage(FileSystemStorage):
    """Opens a public name at npm's path of the file."""

    def path(self, name):
        return super().path(NODE_FILES.get(str(name), name))


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Adds a content hash to names, also in imports between our own JavaScript modules."""

    patterns = tuple(
        (kind, tuple(each for each in rewritten if "sourceMappingURL" not in str(each)))
        for kind, rewritten in CompressedManifestStaticFilesStorage.patterns
    )  # the maps are left out
    support_js_module_import_aggregation = True
