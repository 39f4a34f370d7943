"""The pack of an access review: static pages and tables for the people in charge.

``pack``       the pages and tables, from streamed rows
``models``     the queries of the stored findings, verdicts and statuses
``queries``    the queries of these rows
``made``       what a pack is made of: its days, states of its inputs, its history
``reviews``    the operation: its options, checked, and what it prints
``adapter``    the reviews in dbt, with rows from Spark
``words``      the meaning of the words in a pack
``decisions``  the command that turns filled tables into rows of a seed
"""
