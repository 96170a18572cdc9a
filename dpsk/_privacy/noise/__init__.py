"""The only randomness: streams, samplers, and the grids that noise is rounded to."""
