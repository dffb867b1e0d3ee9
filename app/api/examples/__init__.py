"""The examples of the document: one small journey, each step of which uses what earlier ones made.

They are run in their order by a test, and are what a newcomer sends with "Try it out".
"""
