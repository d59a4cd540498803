"""The parts of ``studies/dimitrakakis2017.py``."""
