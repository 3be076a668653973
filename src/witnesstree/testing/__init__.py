"""What third parties need to test a store of their own."""
