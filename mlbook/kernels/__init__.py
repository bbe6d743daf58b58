"""Kernel machines: one module for each chapter of this part of the book."""
