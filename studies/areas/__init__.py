"""Parts of ``pooling.py``: real tables with groups, and simulated groups of several kinds."""
