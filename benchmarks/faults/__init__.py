"""The fault lab: `python -m benchmarks.faults` breaks a private installation again and again, and
checks from independent evidence what became of its runs. See docs/reliability.md.
"""
