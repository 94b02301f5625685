"""What is learned: gates, networks, losses and penalties, and the loop that trains them, on arrays alone."""
