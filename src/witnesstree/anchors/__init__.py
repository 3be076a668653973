"""Where the head is remembered elsewhere."""
