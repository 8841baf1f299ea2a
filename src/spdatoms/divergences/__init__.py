"""Divergences between SPD matrices: one file, one class each."""
