"""Writes rules as text: predicates of other engines, row filters, grants."""
