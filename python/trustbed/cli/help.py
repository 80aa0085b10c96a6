"""The help pages of the command line, kept by hand.

They are plain text so that ``trustbed --help`` costs nothing but the interpreter's start, and so that every line can be worded for
its reader. A test holds them against the parser: an option that only one of the two knows is a failure. No line is wider than 80
columns.
"""

from __future__ import annotations

OVERVIEW = """\
trustbed: is that number the network's, or the testbed's, and why?

Usage: trustbed COMMAND [OPTIONS]

Commands:
  analyze CAPTURE…            What limited every transfer in a capture, how sure
                              that is, and whether its number may be used
  explain CAPTURE TRANSFER    Why one transfer was judged so: the rule, its
                              numbers, and what would change the verdict

Options:
  -h, --help                  This page, or the page of a command
  -V, --version               Version

Start here:
  trustbed analyze server.pcap
  trustbed analyze server.pcap --workload bulk --report report.html
  trustbed explain server.pcap 1.0
"""

ANALYZE = """\
Says which transfers a capture holds, what limited each, and whether the
network or the testbed was measured.

Usage: trustbed analyze [OPTIONS] CAPTURE…

  CAPTURE     pcap or pcapng, plain, .gz or .zst; - reads standard input.
              Several files are one rotated capture.

What you know (nobody can see it in the packets):
  --at PLACE              Where the capture was taken: sender, receiver or
                          middle. Found per connection if not given
  --workload KIND         bulk: the sender always had data to send;
                          interactive: it waited for requests
  --capacity RATE         Rate of the narrowest link, for example 20Mbit/s

How to read:
  --inner                 Judge the packets inside VXLAN, GRE, Geneve and IP
                          in IP instead of the tunnel
  --dedup                 Drop packets that were captured twice
  --workers N             Threads (default: one per core); the result is the
                          same for any number

What to write:
  --report FILE           A page that explains everything, for the browser
  --json                  Everything as JSON on standard output
  -o, --out DIR           Parquet tables: connections, transfers, findings,
                          skips
  --csv                   CSV beside every Parquet table (with --out)
  --samples               Tables rtt, spacing and segments too: a row per
                          packet (with --out)
  --force                 Let --out write among files that are not its own
  --junit FILE            A JUnit report for CI, one test case per transfer
  -q, --quiet             No summary and no progress bar
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a transfer needs review or 4
                          when one must be discarded; discard: only the 4
  --strict                Exit 1 when part of the capture could not be read
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard
"""

EXPLAIN = """\
Says why one transfer was judged as it was: the rule that fired, its numbers,
the limits they were held against, and what would change the verdict.

Usage: trustbed explain [OPTIONS] CAPTURE… TRANSFER

  CAPTURE     as for trustbed analyze
  TRANSFER    the transfer's name in trustbed analyze, for example 1.0

Options:
  --at PLACE              Where the capture was taken: sender, receiver or
                          middle. Found per connection if not given
  --workload KIND         bulk: the sender always had data to send;
                          interactive: it waited for requests
  --capacity RATE         Rate of the narrowest link, for example 20Mbit/s
  --inner                 Judge the packets inside VXLAN, GRE, Geneve and IP
                          in IP instead of the tunnel
  --dedup                 Drop packets that were captured twice
  --workers N             Threads (default: one per core)
  --json                  The same as JSON
  -q, --quiet             No progress bar
  --no-color              No colour (so does the variable NO_COLOR)
  -h, --help              This page
"""
