"""The HTTP edge: routers, schemas, problems and authentication, and nothing else."""
