"""What is minimized: pure mathematics, which knows neither rows nor privacy."""
