"""Faults on purpose: the line of real processes, broken again and again, and its books checked after each."""
