"""`make bench`: how fast and how small trustbed is, against the programs people use today.

Builds large captures out of real ones (`templates`, `block`, `captures`, `flood`), runs programs
and measures what they cost (`process`), and compares costs of one run with each other (`speed`,
`memory`, `burst`), never with figures of another day or machine. `before` compares the analysis
with that of an earlier commit, in one run as well.
"""
