"""The parts of ``studies/foulds2016.py``."""
