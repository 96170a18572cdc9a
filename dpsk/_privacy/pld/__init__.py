"""Privacy-loss distributions: of one release, composed, and the tilt that keeps digits."""
