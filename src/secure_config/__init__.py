"""The config of the secure datasets: read, checked and planned, so that macros render.

``reading``   YAML with the line of every key
``schema``    what each key means: the one place that says so
``checks``    what is misspelt, missing or contradictory
``expressions``  the SQL in the config, read by a parser
``plan``      which relations a dataset reads, and what restricts it
``adapter``   what macros call
"""
