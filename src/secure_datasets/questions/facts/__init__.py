"""The facts of `why`: its queries, and the answers that are made of their rows.

``built``    the built relations, and the macros that render SQL which models share
``people``   the users that a question means
``staged``   staged rows, and the deliveries behind them
``uncounted``  the deliveries that do not count, with their files of SQL
``rights``   the parts of a tier on some objects: paths, links, and what does not count
``rules``    the rules beyond the tier, and the rows that open them
``keys``     the keys and paths of row security
``grants``   what the search for the nearest missing grants starts from
``nearest``  the nearest missing grants, and what comes with them
``answers``  the answer about a row or an object
"""
