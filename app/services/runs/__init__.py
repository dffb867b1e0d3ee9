"""Background runs and the webhooks that tell of them."""
