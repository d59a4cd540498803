"""What is computed from rows: exact integers, or every record. Private."""
