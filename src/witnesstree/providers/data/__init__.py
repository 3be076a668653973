"""The table of the local embedder and its vocabulary."""
