"""Sets up a checkout: the virtual environment, the pinned packages, jQuery, Chart.js and Inter.

Each part leaves a stamp, so that a second call does nothing.
"""

from local.node_env import ensure_node_packages
from local.python_env import ensure_packages, ensure_venv


def set_up(requirements: str) -> None:
    """Set up the virtual environment with this file's packages, and the npm packages."""
    ensure_venv()
    ensure_packages(requirements)
    ensure_node_packages()
