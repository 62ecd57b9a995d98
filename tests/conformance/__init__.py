"""Tests of other CRFs, run unchanged against this one: `python -m tests.conformance --help`."""
