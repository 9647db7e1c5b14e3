"""Builds what a checkout needs: the virtual environment, the pinned packages, jQuery and Chart.js.

Each part leaves a stamp, so that a second call does nothing and takes no time.
"""

from local.node_env import ensure_node_packages
from local.python_env import ensure_packages, ensure_venv


def set_up(requirements: str) -> None:
    """The virtual environment with the packages of this file, and the packages of npm."""
    ensure_venv()
    ensure_packages(requirements)
    ensure_node_packages()
