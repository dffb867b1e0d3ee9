"""Readable reports, made of evidence documents alone."""
