"""What the adapter ``secure_spark`` does in Python: the session, and what is published.

``session``     starts the Spark session, and says what to do when it does not start
``submission``  runs Python models in it
``publishing``  what a run may publish, and from what
``queries``     which relations a query reads
``run``         its lock: one run at a time
``versions``    what is published, as the metastore tells
``raw_tables``  what the raw tables hold
``seeds``       what a seed's file holds
``unchanged``   whether a version can stay as it is
``warehouse``   the folders under the schemas
``leaks``       the leak detector
``settings``    the variables
``disk``, ``java``  what is wrong with them, in a sentence

dbt loads every module whose name starts with ``dbt_``, and finds no plugin here.
"""
