"""The pack of an access review: static pages and tables for those who are in charge.

``pack``       the pages and tables, from rows that are streamed
``reviews``    what people ask, read and checked; and what macros may call
``adapter``    the same in dbt, from the rows of Spark
``words``      what the words of a pack mean
``decisions``  the filled tables as rows of a seed: a command
"""
