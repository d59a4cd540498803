"""The public records of mechanisms, one file each."""
