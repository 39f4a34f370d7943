"""Who may see what, worked out: the product's own Python."""
