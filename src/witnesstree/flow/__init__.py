"""The boxes joined in the order of the data."""
