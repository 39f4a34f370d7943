"""Cases of access: given rows, and the rows that each user sees."""
