"""Speed of the package beside production libraries, measured and written to tables.

Both sides run in one process on one thread, in turns, and count CPU time; a table shows
the median of each side and their ratio. Timings vary from machine to machine and from
day to day, so that no test depends on one.
"""
