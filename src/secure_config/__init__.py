"""The config of the secure datasets: read, checked and planned, so that macros render.

``source``    the macro and file that hold the document, and what Jinja leaves out of it
``reading``   YAML with the line of every key
``layers``    what a root project's document does to the product's
``problems``  what is wrong with it: a sentence, and the place that it is about
``schema``    what each key means: the one place that says so
``reference``  the page about the keys, and the schema for editors, made of that
``checks``    what is misspelt, missing or contradictory
``expressions``  the SQL in the config, read by a parser
``clock``     the texts in it that Spark could take for the clock
``plan``      which relations a dataset reads, and what restricts it
``printing``  a rule by itself, in the dialect of an engine
``adapter``   what macros call
"""
