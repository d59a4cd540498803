"""Exact posteriors of one-parameter families with one bounded statistic: characteristic functions, then quadrature."""
