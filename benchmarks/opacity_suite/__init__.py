"""Published automata and what was published about their opacity: `python -m benchmarks.opacity_suite`, for any tool."""
