"""Measurements behind the bars of the design. ``python -m bench`` runs all, ``python -m bench NAME`` one module."""
