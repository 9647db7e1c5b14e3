"""What to send, how hard, in which order and to which target: values, rules and costs."""
