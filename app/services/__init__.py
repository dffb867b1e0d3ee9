"""Use cases in the user's words; owns the ports that persistence and workers implement."""
