"""Exported files in their runtimes, without this package; `docs/guides/serve.md` has the table of results."""
