"""Every published figure next to ours: one module per paper, each yielding rows."""
