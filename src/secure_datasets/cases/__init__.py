"""Cases of access: given rows, and which rows each user sees of them."""
