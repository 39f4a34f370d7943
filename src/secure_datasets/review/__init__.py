"""The pack of an access review: static pages and tables for the people in charge.

``pack``       the pages and tables, from streamed rows
``reviews``    the checked options of a review, and the methods for macros
``adapter``    the reviews in dbt, with rows from Spark
``words``      the meaning of the words in a pack
``decisions``  the command that turns filled tables into rows of a seed
"""
