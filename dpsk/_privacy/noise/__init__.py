"""All random draws: streams, samplers, and the grids to which noise is rounded."""
