"""Exported files in their runtimes, without this package: see `docs/guides/serve.md` for the table of what works."""
