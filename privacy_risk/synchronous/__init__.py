# Made of asynchronous/__init__.py by generate_synchronous.py: change that file, not this one.
"""The client for programs that block."""
