"""Parts of the study of Geumlek (2020), chapter 6."""
