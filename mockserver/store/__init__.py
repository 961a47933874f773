"""The store: sandboxes in one file, the commits by which what was answered is kept, and the way
back."""
