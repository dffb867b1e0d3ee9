"""What published classifications say of codes, as constants; NOTICE names their sources."""
