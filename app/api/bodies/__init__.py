"""Bodies of requests: how large they may be, how many are held at once, how large ones are read."""
