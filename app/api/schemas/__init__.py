"""What bodies look like: bounded, described, exampled; requests turn themselves into use-case values."""
