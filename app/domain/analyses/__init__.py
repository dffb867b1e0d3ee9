"""Measures that run or explain searches, and those of rules, attackers and joined sources."""
