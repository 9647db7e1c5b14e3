"""The `make` targets of one machine: set-up, embedded servers, supervisor, tests.

Everything up to the set-up runs on a bare Python, before the virtual environment exists, so these
modules import nothing but the standard library at their top.
"""
