"""What perf stat, vmstat, sar and time printed on the target's machine, as named values."""
