"""What to send, how hard, in which order and to whom: values, their rules, and what they cost."""
