"""Bytes, hashes and signatures: pure, no I/O, no clock."""
