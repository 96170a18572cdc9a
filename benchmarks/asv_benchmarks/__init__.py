"""What is measured at every commit, as ratios that machines agree on better than on seconds."""
