"""The release: the one way for anything about rows to leave, and how its noise follows."""
