"""Cheap indicators of sending-host pauses: accuracy against a spin monitor, and cost.

A monitor that always wants to run sees whatever is withheld from a process, and burns a core.
Cheaper signs of the same are at hand: how long processes waited, how late one that sleeps wakes up,
what a quota throttled, what the kernel or the hypervisor say. Here transfers are disturbed as in
`make truth`, and every sign is held against the pauses of the sender, second by second.

- `plan`: what is measured, in which order, from one seed;
- `accuracy`: the spin monitor itself, against quotas and a competitor that are known;
- `cost`: what samplers use of a processor, with each indicator and without;
- `transfer`: one transfer with its indicators, made by `trustbed run`'s own parts;
- `held`: how much of a second its sender held back, from the sender's capture;
- `indicators`: what each indicator said of which time;
- `figures`: correlation, thresholds, precision and recall;
- `page`, `command`: its page, and the command that makes it.

Bias: a host is a namespace here. Its processes are disturbed, its kernel is not: it goes on
acknowledging and sending what was written before. A indicator that is stopped with the rest looks
later, by as long as it stood: its intervals are longer then. A hypervisor that steals is not made,
so what steal would tell of it is not shown.
"""
