"""A repository on disk, through libsvn: the only place that calls it."""
