"""The parts of `planning.py`: models with their tables, a budget for six questions, real columns."""
