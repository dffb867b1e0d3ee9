"""Optimisations, frontiers and suggested changes: what is asked, what it costs, and the work itself."""
