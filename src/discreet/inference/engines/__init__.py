"""How a release is read: one engine a file or folder."""
