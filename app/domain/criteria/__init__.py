"""Privacy criteria: what must hold of the classes of a release, for searches, rules and reports."""
