"""The release: the only way for information about rows to leave, and how its noise follows."""
