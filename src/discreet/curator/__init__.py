"""The curator's verb: declare, read, charge, draw."""
