"""Privacy models: what must hold of the classes of a release, and how far it holds."""
