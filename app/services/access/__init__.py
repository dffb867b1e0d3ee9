"""Who may do what, for which tenant, and what was done."""
