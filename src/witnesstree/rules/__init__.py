"""Decisions: pure, no I/O, no clock."""
