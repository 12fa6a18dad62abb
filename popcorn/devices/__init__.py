"""What this machine is, and the best it could do."""
