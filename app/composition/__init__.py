"""Composes the service, its workers and the operator's verbs from rooms that do not know each other."""
