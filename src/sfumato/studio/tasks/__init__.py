"""Tasks: what the processes of workers do for the views, in a file per view; plain values in, plain values out."""
