"""The augment engine: Markov chains over latent records."""
