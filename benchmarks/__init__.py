"""Measurements behind the figures of the documentation; each module is a command that prints its table."""
