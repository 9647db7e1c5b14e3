"""The agent: watches a target's machine and tells a benchsite, second by second, what it did.

It imports nothing of benchsite and needs only Linux and Python 3.10 or later: the site hands it out
as one file, `agent.pyz` (campaigns/views/targets.py), which is this folder.
"""
