"""How rows are read: files, tables and engines. Private."""
