"""The database backend: Django's for PostgreSQL, with connections that wait for no answer for ever.

A server that is frozen keeps its sockets open and its kernel answers for it, so neither its own
statement_timeout nor tcp_user_timeout ends the wait.
"""
