"""Studio: a local web page that takes a table from file to signed release. No logic of its own: views call verbs."""
