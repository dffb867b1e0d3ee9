"""What would make a rule pass: the least that has to be generalised further."""
