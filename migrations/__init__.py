"""The database's history, applied by ``app.persistence.migration``."""
