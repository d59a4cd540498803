"""Parts of the head-to-head study: models, equal budgets, one replicate, cells of the grid, claims, table, picture."""
