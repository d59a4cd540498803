"""The parts of `real_columns.py`: real columns as populations, one simulated release, one cell of the table."""
