"""Tables larger than memory: rows per second and peak memory of a release, by engine, search and number of rows."""
