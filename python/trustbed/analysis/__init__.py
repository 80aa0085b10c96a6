"""The library's face of captures.

One capture, one transfer, two-point captures and burstiness, analysed and judged.
"""
