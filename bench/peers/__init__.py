"""Other memories beside ours: each in an environment and a process of its own, all asked the same things in turn."""
