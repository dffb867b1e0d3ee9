"""privacy-risk: how much harm a disclosure can do, what it is still good for, and which form is best."""
