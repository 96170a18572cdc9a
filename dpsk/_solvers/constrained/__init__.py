"""Steps inside a convex set."""
