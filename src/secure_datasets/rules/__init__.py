"""Times, masks and readers' attributes in the rules of the config."""
