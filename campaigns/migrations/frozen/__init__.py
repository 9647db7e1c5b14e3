"""What migrations compute, as it was when they were written.

A migration imports nothing else of this project (tests/test_architecture.py): the product's own
code changes, and a database of any release has to arrive at the same rows. Nothing here is ever
changed, and nothing but migrations imports it.
"""
