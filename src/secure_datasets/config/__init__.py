"""The product's YAML documents, read into checked entries."""
