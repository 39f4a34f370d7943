"""Engines: what answers a query in Spark's SQL."""
