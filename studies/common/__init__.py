"""What the studies share: claims and panels, the report they end in, and the sheet they are drawn on."""
