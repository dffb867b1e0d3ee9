"""The pages: what the service knows, for people who look rather than call."""
