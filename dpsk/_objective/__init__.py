"""What is minimised: pure mathematics, which knows neither rows nor privacy."""
