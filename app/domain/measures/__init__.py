"""What can be measured of a table, a rule and an attacker beyond the plain assessment: one file each."""
