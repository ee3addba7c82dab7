"""What users rely on, pinned."""
