"""A 2024 study of Samarati and Mondrian, repeated with one command: `python -m benchmarks.study`."""
