"""The client for programs that do not block; ``synchronous`` is made of these files."""
