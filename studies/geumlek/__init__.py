"""Parts of the studies of Geumlek (2020), chapters 5 to 7."""
