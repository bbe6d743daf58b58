"""Helpers that build and check the book; not part of the installed package."""
