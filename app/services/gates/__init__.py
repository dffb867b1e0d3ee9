"""Release gates: evaluations of a dataset and its release by a policy, and waivers of single criteria."""
