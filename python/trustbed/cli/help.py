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
  burst CAPTURE…              How bursty the traffic is: the queue it would
                              build in front of a slower link, and what a buffer
                              of which size would lose
  watch INTERFACE             Rates and bursts on an interface while traffic
                              passes
  shell CMD…                  Any command behind a link that you describe, and
                              what the link did
  run SCENARIO                An experiment in a network of this machine's own:
                              emulated, repeated, judged; continues when it was
                              interrupted
  pairs CAMPAIGN              Connection pairs between hosts that exist, for
                              hours to weeks, every round judged as it arrives
  status FOLDER               How far a campaign is, and what it says so far
  report RUN                  What a run came to: results with confidence
                              intervals, slowdown, which repetitions to discard
  testbed list|clean          What runs have left on this host
  doctor [HOST…]              Whether this host, or others, are fit to measure
                              on, and what mends it where they are not

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
       trustbed analyze [OPTIONS] --sender CAPTURE --receiver CAPTURE

  CAPTURE     pcap or pcapng, plain, .gz or .zst; - reads standard input.
              Several files are one rotated capture.

What you know (nobody can see it in the packets):
  --at PLACE              Where the capture was taken: sender, receiver or
                          middle. Found per connection if not given
  --workload KIND         bulk: the sender always had data to send;
                          interactive: it waited for requests
  --capacity RATE         Rate of the narrowest link, for example 20Mbit/s

Both ends (two captures of the same packets):
  --sender CAPTURE        Taken beside the sender: its transfers are judged
  --receiver CAPTURE      Taken beside the receiver: joined with the other,
                          it tells what was lost on the way, how long the
                          way took, and what the receiver's machine took.
                          Say either again for each file of a rotated one
  --same-clock            One clock stamped both

How to read:
  --inner                 Judge the packets inside VXLAN, GRE, Geneve and IP
                          in IP instead of the tunnel
  --dedup                 Drop packets that were captured twice
  --workers N             Threads (default: one per core); the result is the
                          same for any number

What to write:
  --report FILE           A page that explains everything, for the browser
  --burst                 How bursty the traffic is, too: reads the capture once
                          more (a report always says it)
  --json                  Everything as JSON on standard output
  -o, --out DIR           Parquet tables: connections, transfers, findings,
                          skips; crossings, with both ends
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
       trustbed explain [OPTIONS] --sender CAPTURE --receiver CAPTURE TRANSFER

  CAPTURE     as for trustbed analyze
  TRANSFER    the transfer's name in trustbed analyze, for example 1.0

The same captures and options as for trustbed analyze lead to the same verdict.

Options:
  --at PLACE              Where the capture was taken: sender, receiver or
                          middle. Found per connection if not given
  --workload KIND         bulk: the sender always had data to send;
                          interactive: it waited for requests
  --capacity RATE         Rate of the narrowest link, for example 20Mbit/s
  --inner                 Judge the packets inside VXLAN, GRE, Geneve and IP
                          in IP instead of the tunnel
  --dedup                 Drop packets that were captured twice
  --sender CAPTURE        Taken beside the sender: its transfer is explained
  --receiver CAPTURE      Taken beside the receiver: joined with the other
  --same-clock            One clock stamped both
  --workers N             Threads (default: one per core)
  --json                  The same as JSON
  -q, --quiet             No progress bar
  --no-color              No colour (so does the variable NO_COLOR)
  -h, --help              This page
"""

BURST = """\
Says how bursty the traffic of a capture is: the queue that it would build in
front of a slower link, how deep a buffer it needs, what a smaller one would
lose, and on which time scales it varies. The traffic is taken as it was.

Usage: trustbed burst [OPTIONS] CAPTURE…

  CAPTURE     pcap or pcapng, plain, .gz or .zst; - reads standard input.
              Several files are one rotated capture, unless --each is given.

Which link:
  --rate RATE             Rate of the virtual bottleneck, for example 40Mbit/s
  --mode MODE             static: the rate that was given (default with --rate);
                          dynamic-same: each window's own mean rate (default
                          without); dynamic-previous: that of the window before;
                          dynamic-same-carry: own mean, the queue is carried on
  --window TIME           Length of a window (default: 100ms)
  --align HOW             Windows begin at multiples of their length since the
                          epoch (default), or at the first packet: epoch, first
  --link-rate RATE        Rate of the link that the capture was taken on: where
                          buffer against rate ends
  --rates RATE,…          Links to look at for losses (default: --rate, or those
                          of which the traffic is 80 % and 50 %)
  --buffer SIZE,…         Buffers to look at for losses, for example 16KiB,64KiB

Which packets:
  --filter EXPR           Only these, for example 'tcp port 80 and not host ::1'
  --by WHAT               Streams on their own too: direction, vlan, interface
                          or flow
  --top N                 So many of them, the largest (default: 20)
  --basis BASIS           What counts as a packet's length: frame (default),
                          frame_fcs (4 bytes more), wire (24 more, at least 84)
                          or ip
  --offload HOW           stacked: packets of segmentation offload count as the
                          frames they were on the wire, at one moment (default);
                          spread: at the rate of --link-rate; as-captured: they
                          stay one packet
  --inner                 Look inside VXLAN, GRE, Geneve and IP in IP

Which scales:
  --bin TIME              Bins for energy and rate over time (default: 1ms)
  --count WHAT            Energy of bytes (default) or packets
  --wavelet NAME          For the Hurst parameter: haar, daubechies2 or
                          daubechies3 (default)
  --octaves FIRST-LAST    Fit it to these octaves (default: chosen)

How to read:
  --each                  Every file is a capture of its own; the report
                          compares them
  --only PARTS            Leave the rest out: windows, sigma, queue, energy,
                          rates, gaps, trains (several with commas)
  --workers N             Threads (default: one per core); the result is the
                          same for any number

What to write:
  --report FILE           A page with charts, for the browser
  --json                  Everything as JSON on standard output
  -o, --out DIR           Parquet tables of all the above
  --lost                  A table of every packet that a buffer loses, with its
                          frame number (with --out)
  --csv                   CSV beside every Parquet table (with --out)
  --force                 Let --out write among files that are not its own
  -q, --quiet             No summary and no progress bar
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --strict                Exit 1 when part of the capture could not be read
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage
"""

WATCH = """\
Measures an interface while traffic passes: rates, and the queue that the
traffic would build in front of a slower link, window by window.

Usage: trustbed watch [OPTIONS] INTERFACE

  INTERFACE   for example eth0; ip link lists them. Capturing needs root or the
              capability CAP_NET_RAW

What to measure:
  --rate RATE             Rate of the virtual bottleneck, for example 1Gbit/s
  --mode MODE             static: the rate that was given (default with --rate);
                          dynamic-same: each window's own mean rate (default
                          without); dynamic-previous: that of the window before;
                          dynamic-same-carry: own mean, the queue is carried on
  --window TIME           Length of a window (default: 100ms). The dynamic modes
                          keep its packets, 12 bytes each
  --basis BASIS           What counts as a packet's length: frame (default),
                          frame_fcs (4 bytes more), wire (24 more, at least 84)
                          or ip
  --offload HOW           stacked: packets of segmentation offload count as the
                          frames they were on the wire, at one moment (default);
                          as-captured: they stay one packet
  --by HOW                direction: what comes in and what leaves apart, and
                          all of it (default); none: only all of it
  --filter EXPR           Only these packets, for example 'tcp port 80'

How to capture:
  --snap BYTES            Bytes kept of a packet (default: 128, headers only)
  --ring SIZE             Memory in which packets wait (default: 32MiB)
  --timestamps FROM       hardware: the interface's own, where it makes them
                          (default); software: always the kernel's

When to end (else: with Ctrl-C):
  --duration TIME         After this time, for example 30s
  --count N               After N windows

What to write:
  --json                  A line of JSON per window and direction, on standard
                          output
  --metrics ADDR          OpenMetrics for scrapers, over HTTP: a port on
                          loopback, for example 9464, or ADDRESS:PORT
  --write FILE            Keep the packets as pcapng, with drop counters
  -q, --quiet             Neither view nor summary
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --strict                Exit 1 when the kernel dropped packets
  -h, --help              This page

Exit codes: 0 fine (Ctrl-C too), 1 error, interface gone or file not complete,
2 wrong usage
"""

SHELL = """\
Runs any command behind a link that you describe, in a network of its own, and
says what the link did: throughput, queueing, drops, and how late the emulator
itself was. Nothing else of this host's network can be reached from there.

Usage: trustbed shell [OPTIONS] [-- CMD…]

  CMD         the command, with its arguments; your shell if there is none.
              Inside, $TRUSTBED_PEER is the address of the far end of the link

The link, the same in each direction (a delay of 10 ms is an RTT of 20 ms):
  --rate RATE             For example 20Mbit/s (default: no limit)
  --delay TIME            For example 10ms
  --jitter TIME           Delays vary evenly by up to so much either way
  --queue SIZE            What may wait: packets like 50p, bytes like 64KiB, or
                          unlimited (default: 1000p)
  --loss SHARE            Packets lost at random, for example 0.1%
  --duplicate SHARE       Packets that arrive twice
  --link KEY=VALUE…       Any key of a link in a scenario, for example
                          queue.discipline=codel, rate_trace=cell.txt
  --up KEY=VALUE…         Only the way from here: rate=1Mbit/s loss=1%
  --down KEY=VALUE…       Only the way to here
  --seed N                Of what is random in the link (default: 1)

The near end:
  --guest NIC             CMD runs in a machine of its own, started for it by
                          QEMU, whose network card is a virtio-net, e1000,
                          e1000e, vmxnet3 or rtl8139. What can be run there:
                          busybox (sh, ping, nc, wget, …) and trustbed-agent,
                          nothing of this host's. Starting takes some seconds,
                          the first time a minute: a kernel is fetched

The far end:
  --far CMD               Start a server there, for example 'iperf3 -s', and
                          wait until it listens
  --outside               The network of this host is reached through the link:
                          as root, or with pasta where it is installed. IPv4.
                          Through pasta ping is answered only if this host lets
                          you send echoes (sysctl net.ipv4.ping_group_range)
  --congestion-control NAME
                          What TCP uses at both ends (default: this host's)

What to write:
  --ledger FILE           A row for every packet on each pipe, as Parquet: asked
                          and done times, the queue it found, what became of it
  --json                  What the link did, as one line of JSON on standard
                          output, behind what the command wrote
  -q, --quiet             No summary
  -h, --help              This page

Exit codes: that of the command (128 and its number if a signal ended it);
125 if something else went wrong, 2 wrong usage
"""

RUN = """\
Carries out a scenario: makes its network, starts its traffic, repeats every
cell of its matrix in random order, judges every repetition. What is complete
is kept: after an interruption the same command continues.

Usage: trustbed run [OPTIONS] SCENARIO

  SCENARIO    a file that says which hosts, links, workloads and background
              there are, and what is varied (docs/scenario.md)

What to do:
  --repetitions N         So many of every cell, instead of the scenario's; more
                          than before are added to a run that is complete
  --resume                Only continue a run that has begun
  --dry-run               Say what would be done and how long it takes

What to write:
  -o, --out DIR           The run directory (default: SCENARIO.run, here), with
                          report.html at the end
  --no-report             Without that page
  --json                  The results, or the plan, as JSON on standard output
  -q, --quiet             No summary and no progress
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a repetition needs review or 4
                          when one must be discarded; discard: only the 4
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard
"""

REPORT = """\
Says what a run came to: the results of its workloads with 95 % confidence
intervals, how much slower background traffic made them, what the links and the
background did, and which repetitions must not be used, and why. Of a campaign:
what trustbed status says; its page also has rounds and hosts over time.

Usage: trustbed report [OPTIONS] RUN

  RUN         the folder that trustbed run or trustbed pairs made, which need
              not be complete

Options:
  -o, --out FILE          A page with charts, for the browser
  --json                  Everything as JSON on standard output
  -q, --quiet             No summary
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a repetition or round needs review
                          or 4 when one must be discarded; discard: only the 4
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard
"""

PAIRS = """\
Measures the paths between hosts that exist, for hours to weeks: rounds of
connection pairs (a short transfer, the probe, beside a long one, the data),
each judged as it arrives: what the network gives, which rounds measured a host
instead, and why.

Usage: trustbed pairs [OPTIONS] CAMPAIGN

  CAMPAIGN    a file that names pairs of hosts, sizes and times
              (docs/campaign.md); its inventory says how hosts are reached
              (docs/inventory.md)

Hosts are reached by SSH or by a command; the agent is copied to each. Packets
are captured and samples taken on both. A host that fails costs its own rounds,
and is tried again. Ctrl-C ends in order; the same command continues.

Options:
  -o, --out DIR           The campaign's folder (default: the name of the file
                          with .pairs)
  --resume                Continue one; an error if there is none
  --dry-run               Say what would be done, and stop
  --json                  What it came to as JSON on standard output
  -q, --quiet             No lines on how it goes, and no summary
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a round needs review or 4 when one
                          must be discarded; discard: only the 4
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard
"""

STATUS = """\
Says how far a campaign is, which hosts are not there, and what its rounds so
far come to. It may be at work meanwhile.

Usage: trustbed status [OPTIONS] FOLDER

  FOLDER      the folder that trustbed pairs made

Options:
  --resources FILE        Write what hosts, Prometheus and CloudWatch tell of
                          the hosts' resources as one table (Parquet)
  --round PAIR/NUMBER     That of one round only
  --json                  Everything as JSON on standard output
  -q, --quiet             No summary
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a round needs review or 4 when one
                          must be discarded; discard: only the 4
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard
"""

TESTBED = """\
Shows the testbeds that exist on this host, or removes those whose owner was
killed: their processes, namespaces and control groups. Others are left alone.

Usage: trustbed testbed [OPTIONS] list|clean

Options:
  --json                  The same as JSON
  -h, --help              This page

Exit codes: 0 fine, 1 error, 2 wrong usage
"""

DOCTOR = """\
Says whether a host is fit to measure on: clock, timers, processors, load,
limits, interfaces, sockets, permissions. Every finding has the measured value,
why it matters, and the command that mends it. No setting is changed.

Usage: trustbed doctor [OPTIONS] [HOST…]

  HOST        hosts and groups of an inventory, one after the other; all of it
              if none is named. Without an inventory it is this host

It tries for some three seconds how late sleeping threads wake up, what of a
core a spinning one has, and whether packets on loopback are all captured, with
true times. Start it while nothing else runs.

Options:
  --inventory FILE        How hosts are reached (docs/inventory.md); the agent
                          is copied to each
  --quick                 Only look, do not try: nothing is asked of the host
  --json                  Findings, and the facts behind them, as JSON on
                          standard output
  -q, --quiet             No summary
  --no-color              No colour (so does the variable NO_COLOR)

How to end:
  --fail-on LEVEL         review: exit 3 when a host is to be looked at
                          (warnings) or 4 when one is not fit (errors); discard:
                          only the 4
  -h, --help              This page

Exit codes: 0 fine, 1 error, a host could not be asked, 2 wrong usage, 3 review,
4 not fit
"""
