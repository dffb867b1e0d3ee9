"""The harm of disclosure: weights of values, and what they come to together."""
