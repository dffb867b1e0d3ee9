"""From counts to risk: identification probability, loss, and what they amount to over a table."""
