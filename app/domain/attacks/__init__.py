"""What attackers learn from a release: by what classes have in common, and by what they know beside."""
