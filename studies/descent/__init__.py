"""Parts of the study of noisy descent and Langevin walks."""
