"""Privacy loss distributions: of one release, of compositions, and under a tilt."""
