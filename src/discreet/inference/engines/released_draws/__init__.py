"""Releases of posterior samples, read: what the released draws say of the records behind them, and of theta."""
