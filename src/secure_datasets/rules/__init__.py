"""What the rules of the config mean, beside the SQL that says them."""
