"""One release of a result."""
