"""The organisation's identity provider (OpenID Connect): its keys, its tokens, and signing in by it."""
