"""What a step of each mechanism costs, with its proof."""
