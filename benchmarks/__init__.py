"""Speed and loss, measured: `python -m benchmarks` writes results.json and results.md."""
