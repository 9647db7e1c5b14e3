"""What `make` does on one machine: set-up, embedded servers, the supervisor, the tests.

Everything up to the set-up runs on a bare Python, before the virtual environment exists, so these
modules import nothing but the standard library at their top.
"""
