"""Parts of the study of Bernstein and Sheldon (2018): methods, cells of the grid, claims by figure, and the picture."""
