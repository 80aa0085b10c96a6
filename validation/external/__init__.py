"""Verdicts on networks that others made.

Transfers that the project's laboratory did not make, whose truth somebody else states or another
simulator computes, judged as anybody's would be.

- `answers`: the product's answers about a capture;
- `score`, `page`, `command`: what is right, shown;
- `policing`, `detector`: a carrier's policer and shaper, beside the published detector;
- `ns3`, `simulated`: another TCP on simulated paths;
- `cellular`: links whose rate follows a cellular trace.

Bias: what another simulator calls its limit is checked against its own account of the transfer, but
it models TCP in its own way: there is no Linux in these captures.
"""
