"""Tasks: what the processes of workers do for the views, in a file per view; plain values in, plain values out."""

import polars  # noqa: F401 - what every task needs is loaded before the first one

import sfumato  # noqa: F401
