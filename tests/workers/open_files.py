"""A process at its limit of open files."""

import gc
import os
import resource
from contextlib import contextmanager, suppress


@contextmanager
def all_files_open():
    """This process has every file open that it may; those that it has now stay open. Also sockets
    that tests before left to the collector: it must close none of them meanwhile."""
    gc.collect()
    gc.disable()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 3, limits[1])
    )
    descriptors = []
    try:
        with suppress(OSError):
            while True:
                descriptors.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        gc.enable()
