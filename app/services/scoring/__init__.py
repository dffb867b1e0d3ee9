"""Assessments and measurements of a rule, with sensitivity and utility."""
