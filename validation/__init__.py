"""Cross-tool validation of trustbed against tcptrace and tshark.

Standard library only, except where trustbed itself runs. The parts, each independent of trustbed's
code:

- `records`, `packets`, `arrivals`: a slow reader of captures;
- `connections`, `stream`, `ranges`: trustbed's definitions, implemented plainly (also the oracle of
  property tests);
- `tcptrace_rules`, `tshark_rules`: models of what the two tools do with each packet;
- `tcptrace`, `tshark`, `trustbed_side`: the actual output of the three programs;
- `reasons_*`, `case`: the named situations in which they may differ;
- `compare` (with `counts`, `round_trips`, `flags`), `run`, `document`: the comparison, a capture at
  a time, and the page about it.

Bias: a reason explains too little rather than too much. Where a model of a tool misses what the
tool printed, or the oracle misses trustbed's number, nothing in that direction is explained.
"""
