"""How well a private file keeps what the true one says: metrics for its holder.

Every number here depends on the secret sequences and is not private. So neither mechanisms nor verification may import
this package, and it imports none of them: it compares two files of words, wherever they come from. Nothing here reads
files or draws; the workflow `compare` does.
"""
