"""Corpora of any size: texts from files, prepared once on disk, read again in batches with constant memory."""
