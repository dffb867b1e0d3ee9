"""Queries and schemas written in SQL, as the decision takes them.

Loaded by the first check of SQL: the parser takes a fifth of a second and 20 MB.
"""
