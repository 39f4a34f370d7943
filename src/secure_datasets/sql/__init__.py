"""Reads and checks SQL. sqlglot stands behind this room and the leak detector."""
